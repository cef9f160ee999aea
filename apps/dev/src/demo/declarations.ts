import assert from "node:assert/strict";
import { ManifestRejected } from "@svc/client";
import { exampleAgents, exampleScope } from "../examples/agents.ts";
import { obtained, type Step } from "./scene.ts";

export const declarationsAndConsents: readonly Step[] = [
  {
    title: "Two agents declare what they may do, and their tools confirm it",
    async run({ stack, client }, report) {
      for (const agent of exampleAgents(stack)) {
        const tools = Object.values(agent.manifest.scopes).flatMap((scope) => scope.tools ?? []);
        report.asked(`register ${agent.name}, which declares ${tools.map(({ ref }) => ref).join(", ")}`);
        const { status, manifestVersion } = await client.admin.registerAgent(agent);
        assert.equal(status, "reconciled");
        report.decided(`${status}, manifest version ${manifestVersion}`);
      }
      report.why("the MCP servers and the ledger advertise every declared tool");
    },
  },
  {
    title: "An agent that declares a tool that does not exist gets a remedy",
    async run({ stack, client }, report) {
      const ref = "mcp:everything/delete-everything";
      report.asked(`register a third agent, which declares ${ref}`);
      const manifest = {
        discovery: { kind: "mcp" as const, name: "everything", url: stack.exampleMcp },
        scopes: { cleanup: { hop_budget: 1, tools: [{ ref, data_classes: ["notes"] }] } },
      };
      const rejection = await client.admin.registerAgent({ name: "intern", manifest }).catch((cause: unknown) => cause);
      assert(rejection instanceof ManifestRejected, String(rejection));
      const [entry] = rejection.diff;
      assert.equal(entry?.ref, ref);
      report.decided(`${rejection.status} ${rejection.code}: ${entry.kind}`);
      report.why(entry.remedy);
    },
  },
  {
    title: "Alice consents, and a session starts",
    async run(scene, report) {
      report.asked(`consent of alice to "${exampleScope}" for ten minutes`);
      const session = await scene.client.consent({ scope: exampleScope, userSub: "alice", ttlSeconds: 600 });
      scene.session = session;
      report.decided(`session ${session.sessionId}, at most ${session.hopBudget} hops, until ${session.expiresAt}`);
      report.why(`it keeps policy version ${session.policyVersion}: no later manifest changes what alice allowed`);
    },
  },
  {
    title: "Alice delegates to the planner: authorize, then exchange (RFC 8693)",
    async run(scene, report) {
      const hop = { target: "planner", targetKind: "agent", dataClass: "finance.entries notes" } as const;
      report.asked(`may planner act for alice on "${hop.dataClass}"?`);
      const [grant, planner] = await scene.client.hop(obtained(scene, "session").context(), hop);
      assert.equal(grant.hop, 2);
      assert.equal(planner.caller, "planner");
      scene.planner = planner;
      report.decided(`allow ${grant.actionId}, spent for a token of hop 2 for planner only`);
      report.why("planner is an entry agent of the scope; the decision was committed before the reply");
    },
  },
];
