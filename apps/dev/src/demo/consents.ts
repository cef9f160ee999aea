import assert from "node:assert/strict";
import { exampleScope } from "../examples/agents.ts";
import { obtained, type Step } from "./scene.ts";

export const consents: readonly Step[] = [
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
