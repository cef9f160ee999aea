import assert from "node:assert/strict";
import { decodeJwt } from "jose";
import { authorize, exchange, type Hop, heldBy, type Scene } from "../scene.ts";
import type { Step } from "../teller.ts";

export const delegateStep: Step<Scene> = {
  title: "Alice delegates to the planner: decide, then exchange (RFC 8693)",
  async run(scene, tell) {
    const hop: Hop = {
      token: heldBy(scene, "consent").root_grant,
      target: "planner",
      targetKind: "agent",
      dataClass: "finance.entries notes",
    };
    tell.asked(`may planner act for alice on "${hop.dataClass}"?`);
    const decision = await authorize(scene, hop);
    assert.equal(decision.decision, "allow");
    const { status, body } = await exchange(scene, hop, decision.action_id);
    assert.equal(status, 200, JSON.stringify(body));
    const claims = decodeJwt(body.access_token);
    assert.equal(claims.hop, 2);
    assert.equal(claims.aud, "planner");
    scene.plannerToken = body.access_token;
    tell.decided(`allow ${decision.action_id}, spent for a token of hop 2 for planner alone`);
    tell.why("planner is an entry agent of the scope; the decision was on disk before it was told");
  },
};
