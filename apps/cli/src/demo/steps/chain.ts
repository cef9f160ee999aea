import assert from "node:assert/strict";
import { controlPlane, type Scene } from "../scene.ts";
import type { Step } from "../teller.ts";

interface ChainRead {
  root: { user_sub: string; scope: string; consented_at: string };
  hops: { hop: number; acting_agent: string; target: string; decision: string }[];
  complete: boolean;
}

export const chainStep: Step<Scene> = {
  title: "Who was behind it? The chain of the privileged call, back to alice",
  async run(scene, tell) {
    const action = scene.actions.posted;
    tell.asked(`the chain of action ${action}`);
    const { status, body } = await controlPlane<ChainRead>(scene, `/v1/audit/actions/${action}/chain`, {
      bearer: scene.stack.bearers.audit,
    });
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.complete, true);
    assert.equal(body.root.user_sub, "alice");
    assert.deepEqual(
      body.hops.map(({ acting_agent, target }) => [acting_agent, target]),
      [
        ["alice", "planner"],
        ["planner", "http:ledger/post_entry"],
      ],
    );
    for (const hop of body.hops) tell.decided(`hop ${hop.hop}: ${hop.acting_agent} -> ${hop.target} (${hop.decision})`);
    tell.why(
      `complete: rooted in the consent of ${body.root.user_sub} to "${body.root.scope}" at ${body.root.consented_at}`,
    );
  },
};
