import { operations } from "./operations.ts";

/** The scope that a person consents to in the example. */
export const exampleScope = "expenses";

const notes = (ref: string, more: object = {}) => ({ ref, data_classes: ["notes"], ...more });
const entries = ({ ref, data_classes, access, privileged }: (typeof operations)["read" | "post"]) => ({
  ref,
  data_classes,
  access,
  privileged,
});

/**
 * Two agents: a planner that people delegate to, and an auditor that only the planner does.
 * @returns bodies of `POST /v1/agents`
 */
export function exampleAgents(addresses: { exampleMcp: string; exampleHttp: string }) {
  const discovery = [
    { kind: "mcp", name: "everything", url: addresses.exampleMcp },
    // The same server under a second name: a mark of one server's answers must not follow from the other's.
    { kind: "mcp", name: "outside", url: addresses.exampleMcp },
    { kind: "http", name: "ledger", url: `${addresses.exampleHttp}/capabilities` },
  ];
  return [
    {
      name: "planner",
      manifest: {
        discovery,
        scopes: {
          [exampleScope]: {
            hop_budget: 3,
            tools: [
              notes("mcp:everything/echo"),
              notes("mcp:everything/get-sum"),
              // Its answers come from outside: what is done after one counts as influenced by strangers.
              notes("mcp:outside/get-annotated-message", { result_taint: "untrusted_external" }),
              entries(operations.read),
              entries(operations.post),
            ],
            downstream_agents: ["auditor"],
          },
        },
      },
    },
    {
      name: "auditor",
      manifest: {
        discovery,
        scopes: { [exampleScope]: { hop_budget: 3, entry: false, tools: [entries(operations.read)] } },
      },
    },
  ];
}
