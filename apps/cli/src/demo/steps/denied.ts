import assert from "node:assert/strict";
import { McpError } from "@modelcontextprotocol/sdk/types.js";
import { callTool, withMcpClient } from "../mcp.ts";
import type { Scene } from "../scene.ts";
import type { Step } from "../teller.ts";

export const deniedStep: Step<Scene> = {
  title: "A tool that was not declared is denied, with a reason",
  async run(scene, tell) {
    await withMcpClient(scene, "everything", async (client) => {
      tell.asked("mcp:everything/get-env, which would answer with the server's environment");
      const refusal = await callTool(client, "get-env").then(
        () => assert.fail("the call went through"),
        (cause: unknown) => cause,
      );
      assert(refusal instanceof McpError, String(refusal));
      const data = refusal.data as { code: string; deny_reason: string; action_id: string };
      assert.equal(refusal.code, -32_001);
      assert.equal(data.deny_reason, "TARGET_NOT_DECLARED");
      tell.decided(`denied: ${data.deny_reason}, action ${data.action_id}`);
      tell.why("no manifest of planner declares it; the client got a JSON-RPC error and its session lives on");
      assert.match(await callTool(client, "echo", { message: "still here" }), /still here/);
    });
  },
};
