import assert from "node:assert/strict";
import { authorize, exchange, type Hop, heldBy, type Scene } from "../scene.ts";
import type { Step } from "../teller.ts";

export const replayStep: Step<Scene> = {
  title: "A token that was copied is worth nothing the second time",
  async run(scene, tell) {
    const token = heldBy(scene, "consent").root_grant;
    const hop: Hop = { token, target: "planner", targetKind: "agent", dataClass: "notes" };
    tell.asked("the exchange of alice's first token, once more, with a fresh allow");
    const decision = await authorize(scene, hop);
    assert.equal(decision.decision, "allow");
    const { status, body } = await exchange(scene, hop, decision.action_id);
    assert.equal(status, 400, JSON.stringify(body));
    assert.equal(body.error, "invalid_grant");
    tell.decided(`${status} ${body.error}`);
    tell.why("a token is spent once, in the database and in the guard before it, by however many at once");
  },
};
