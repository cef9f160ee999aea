import assert from "node:assert/strict";
import type { Admission } from "@svc/verifier";
import { callTool, guarded, type Step, withMcpClient } from "./scene.ts";

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
];
