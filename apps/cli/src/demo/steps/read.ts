import assert from "node:assert/strict";
import type { Seen } from "../../examples/admit.ts";
import { guarded, type Scene } from "../scene.ts";
import type { Step } from "../teller.ts";

export const readStep: Step<Scene> = {
  title: "The planner reads the ledger, which checks the token itself",
  async run(scene, tell) {
    tell.asked("GET /ledger/entries/7");
    const { status, body } = await guarded<{ entry: { memo: string }; seen: Seen }>(scene, "/ledger/entries/7");
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(
      { sub: body.seen.sub, audience: body.seen.audience, scope: body.seen.scope, hop: body.seen.hop },
      { sub: "alice", audience: "http:ledger/read_entry", scope: "finance.entries", hop: 3 },
    );
    tell.decided(`allowed: "${body.entry.memo}"`);
    tell.why(
      `the ledger saw ${JSON.stringify(body.seen.act)} acting for alice, for this operation and data class alone`,
    );
  },
};
