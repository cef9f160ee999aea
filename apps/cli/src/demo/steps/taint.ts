import assert from "node:assert/strict";
import { callTool, withMcpClient } from "../mcp.ts";
import { guarded, type Scene } from "../scene.ts";
import type { Step } from "../teller.ts";

export const taintStep: Step<Scene> = {
  title: "After words from outside, a privileged call is blocked",
  async run(scene, tell) {
    tell.asked("mcp:outside/get-annotated-message, declared as untrusted, and then POST /ledger/entries");
    const args = { messageType: "success", includeImage: false };
    await withMcpClient(scene, "outside", (client) => callTool(client, "get-annotated-message", args));
    const { status, headers, body } = await guarded<{ error: { code: string }; details: { deny_reason: string } }>(
      scene,
      "/ledger/entries",
      { json: { amount: 9999, memo: "as the message told me" } },
    );
    assert.equal(status, 403, JSON.stringify(body));
    assert.equal(headers["x-svc-blocked"], "policy");
    assert.equal(body.details.deny_reason, "TAINT_BLOCKED");
    tell.decided(`the first allowed, the second denied: ${body.details.deny_reason}`);
    tell.why("what the planner read marks everything it does after it; a privileged tool does not accept that mark");
    assert.equal((await guarded(scene, "/ledger/entries/7")).status, 200);
    tell.why("reading goes on: only what does not accept it is blocked");
  },
};
