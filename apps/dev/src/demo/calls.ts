import assert from "node:assert/strict";
import { McpError } from "@modelcontextprotocol/sdk/types.js";
import { jwtTokenType, tokenExchangeGrantType } from "@svc/core";
import type { Admission } from "@svc/verifier";
import { callTool, guarded, obtained, type Scene, type Step, withMcpClient } from "./scene.ts";

export const calls: readonly Step[] = [
  {
    title: "The planner uses a stock MCP client through the enforcement point",
    async run(scene, report) {
      await withMcpClient(scene, "everything", async (client) => {
        report.asked("the list of tools, and mcp:everything/get-sum of 19 and 23");
        const { tools } = await client.listTools();
        const names = tools.map(({ name }) => name).toSorted();
        assert.deepEqual(names, ["echo", "get-sum"]);
        const answer = await callTool(client, "get-sum", { a: 19, b: 23 });
        assert.match(answer, /42/);
        report.decided(`allowed: "${answer}"`);
        report.why(
          `planner declares it; of the server's tools the list has only the ${names.length} that planner may call`,
        );
      });
    },
  },
  {
    title: "The planner reads the ledger, which verifies the token itself",
    async run(scene, report) {
      report.asked("GET /ledger/entries/7");
      const { status, body } = await guarded<{ entry: { memo: string }; seen: Admission }>(scene, "/ledger/entries/7");
      assert.equal(status, 200, JSON.stringify(body));
      const { sub, audience, dataClass, hop, actChain } = body.seen;
      assert.deepEqual(
        { sub, audience, dataClass, hop },
        { sub: "alice", audience: "http:ledger/read_entry", dataClass: "finance.entries", hop: 3 },
      );
      report.decided(`allowed: "${body.entry.memo}"`);
      report.why(`the token is for the chain ${actChain.join(" -> ")} and data class ${dataClass} only`);
    },
  },
  {
    title: "A privileged call is bound to its exact parameters",
    async run(scene, report) {
      const entry = { amount: 120, memo: "train to the customer" };
      report.asked(`POST /ledger/entries ${JSON.stringify(entry)}`);
      const { status, body } = await guarded<{ entry: { id: string }; seen: Admission }>(
        scene,
        "/ledger/entries",
        entry,
      );
      assert.equal(status, 201, JSON.stringify(body));
      assert.equal(body.seen.privileged, true);
      scene.posted = body.seen.actionId;
      report.decided(`allowed: entry ${body.entry.id} was written`);
      report.why("the enforcement point sent a transaction token over exactly this body, and the ledger compared it");
    },
  },
  {
    title: "A tool that no manifest declares is denied, with a reason",
    async run(scene, report) {
      await withMcpClient(scene, "everything", async (client) => {
        report.asked("mcp:everything/get-env, which would return the server's environment");
        const refusal = await callTool(client, "get-env").catch((cause: unknown) => cause);
        assert(refusal instanceof McpError, String(refusal));
        const data = refusal.data as { code: string; deny_reason: string; action_id: string };
        assert.equal(refusal.code, -32_010);
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
