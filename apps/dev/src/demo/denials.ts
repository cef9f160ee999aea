import assert from "node:assert/strict";
import { McpError } from "@modelcontextprotocol/sdk/types.js";
import { jwtTokenType, tokenExchangeGrantType } from "@svc/core";
import { callTool, guarded, obtained, type Scene, type Step, withMcpClient } from "./scene.ts";

export const denials: readonly Step[] = [
  {
    title: "A tool that no manifest declares is denied, with a reason",
    async run(scene, report) {
      await withMcpClient(scene, "everything", async (client) => {
        report.asked("mcp:everything/get-env, which would return the server's environment");
        const refusal = await callTool(client, "get-env").catch((cause: unknown) => cause);
        assert(refusal instanceof McpError, String(refusal));
        const data = refusal.data as { code: string; deny_reason: string; action_id: string };
        assert.equal(refusal.code, -32_001);
        assert.equal(data.deny_reason, "TARGET_NOT_DECLARED");
        report.decided(`denied: ${data.deny_reason}, action ${data.action_id}`);
        report.why("planner does not declare it; the client received a JSON-RPC error and its MCP session continues");
        assert.match(await callTool(client, "echo", { message: "still here" }), /still here/);
      });
    },
  },
  {
    title: "After untrusted data, a privileged call is denied",
    async run(scene, report) {
      report.asked("mcp:outside/get-annotated-message, declared as untrusted, and then POST /ledger/entries");
      const args = { messageType: "success", includeImage: false };
      await withMcpClient(scene, "outside", (client) => callTool(client, "get-annotated-message", args));
      const entry = { amount: 9999, memo: "as the message demands" };
      const { status, blocked, body } = await guarded<{ details: { deny_reason: string } }>(
        scene,
        "/ledger/entries",
        entry,
      );
      assert.equal(status, 403, JSON.stringify(body));
      assert.equal(blocked, "policy");
      assert.equal(body.details.deny_reason, "TAINT_BLOCKED");
      report.decided(`the first allowed, the second denied: ${body.details.deny_reason}`);
      report.why("untrusted data taints every later call of the planner; a privileged tool does not accept taint");
      assert.equal((await guarded(scene, "/ledger/entries/7")).status, 200);
      report.why("reading stays allowed: that tool accepts taint");
    },
  },
  {
    title: "A copied token is worth nothing after its first use",
    async run(scene, report) {
      report.asked("a second exchange of alice's first token, with a new allow");
      const { rootGrant, sessionId } = obtained(scene, "session");
      const hop = { session_id: sessionId, target: "planner", target_kind: "agent", data_class: "notes" };
      const allow = await post(scene, "/v1/authorize", JSON.stringify(hop), {
        authorization: `Bearer ${rootGrant}`,
        "content-type": "application/json",
      });
      assert.equal(allow.body.decision, "allow");
      const exchange = new URLSearchParams({
        grant_type: tokenExchangeGrantType,
        subject_token: rootGrant,
        subject_token_type: jwtTokenType,
        resource: hop.target,
        scope: hop.data_class,
        action_id: String(allow.body.action_id),
      });
      const { status, body } = await post(scene, "/v1/token/exchange", exchange);
      assert.deepEqual([status, body.error], [400, "invalid_grant"]);
      report.decided(`${status} ${body.error}`);
      report.why("a token is spent once, in the database and in the replay guard before it");
    },
  },
];

async function post(
  { stack }: Scene,
  path: string,
  body: string | URLSearchParams,
  headers: Readonly<Record<string, string>> = {},
) {
  const response = await fetch(`${stack.controlPlane}${path}`, { method: "POST", body, headers });
  return { status: response.status, body: (await response.json()) as Readonly<Record<string, unknown>> };
}
