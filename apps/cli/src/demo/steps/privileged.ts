import assert from "node:assert/strict";
import type { Seen } from "../../examples/admit.ts";
import { guarded, type Scene } from "../scene.ts";
import type { Step } from "../teller.ts";

export const privilegedStep: Step<Scene> = {
  title: "A privileged call is bound to its very parameters",
  async run(scene, tell) {
    const entry = { amount: 120, memo: "train to the customer" };
    tell.asked(`POST /ledger/entries ${JSON.stringify(entry)}`);
    const { status, body } = await guarded<{ entry: { id: string }; seen: Seen }>(scene, "/ledger/entries", {
      json: entry,
    });
    assert.equal(status, 201, JSON.stringify(body));
    assert.equal(body.seen.bound, true);
    scene.actions.posted = String(body.seen.action_id);
    tell.decided(`allowed: entry ${body.entry.id} was written`);
    tell.why("a transaction token over exactly this body came along, and the ledger compared it");
  },
};
