import type { RegisterAgent } from "@svc/client";

/** The operations that the example ledger advertises (docs/reference/manifest.md#discovery-sources). */
export const operations = {
  read: { ref: "http:ledger/read_entry", data_classes: ["finance.entries"], access: "read", privileged: false },
  post: { ref: "http:ledger/post_entry", data_classes: ["finance.entries"], access: "write", privileged: true },
} as const;

export type Operation = (typeof operations)[keyof typeof operations];

export const exampleScope = "expenses";

/** A consent to it admits one payment, or what else is done within a minute. */
export const approvalScope = "payments-approval";

/** Where discovery finds the example services. */
export interface ExampleAddresses {
  readonly exampleMcp: string;
  readonly examplePayments: string;
  readonly exampleHttp: string;
}

const payments = (tool: string) => ({ ref: `mcp:payments/${tool}`, data_classes: ["payments"] });
const notes = (ref: string) => ({ ref, data_classes: ["notes"] });
const entries = ({ data_classes: classes, ...tool }: Operation) => ({ ...tool, data_classes: [...classes] });

/** A planner that people delegate to, and an auditor that only the planner delegates to. */
export function exampleAgents(addresses: ExampleAddresses): readonly RegisterAgent[] {
  const discovery: RegisterAgent["manifest"]["discovery"] = [
    { kind: "mcp", name: "everything", url: addresses.exampleMcp },
    // The same server under a second name, so that only its second name is a source of taint.
    { kind: "mcp", name: "outside", url: addresses.exampleMcp },
    { kind: "mcp", name: "payments", url: addresses.examplePayments },
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
              // Calls after its result are tainted.
              { ...notes("mcp:outside/get-annotated-message"), result_taint: "untrusted_external" },
              entries(operations.read),
              entries(operations.post),
              payments("list_invoices"),
            ],
            downstream_agents: ["auditor"],
          },
          // One privileged tool: a consent to it approves one act (docs/recipes/approvals.md#declare-the-act-in-a-scope-of-its-own).
          [approvalScope]: {
            hop_budget: 2,
            tools: [{ ...payments("pay_invoice"), access: "write", privileged: true }],
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
