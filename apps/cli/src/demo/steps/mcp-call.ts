import assert from "node:assert/strict";
import { callTool, withMcpClient } from "../mcp.ts";
import type { Scene } from "../scene.ts";
import type { Step } from "../teller.ts";

export const mcpStep: Step<Scene> = {
  title: "The planner uses a stock MCP client, through the enforcement point",
  async run(scene, tell) {
    await withMcpClient(scene, "everything", async (client) => {
      tell.asked("which tools are there, and mcp:everything/get-sum of 19 and 23");
      const { tools } = await client.listTools();
      const names = tools.map(({ name }) => name).toSorted();
      assert.deepEqual(names, ["echo", "get-sum"]);
      const answer = await callTool(client, "get-sum", { a: 19, b: 23 });
      assert.match(answer, /42/);
      tell.decided(`allowed: "${answer}"`);
      tell.why(`planner declares it; of all the server's tools it was shown only these ${names.length}`);
    });
  },
};
