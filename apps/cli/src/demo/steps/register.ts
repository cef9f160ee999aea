import assert from "node:assert/strict";
import { exampleAgents } from "../../examples/agents.ts";
import { controlPlane, type Scene } from "../scene.ts";
import type { Step } from "../teller.ts";

export const registerStep: Step<Scene> = {
  title: "Two agents declare what they may do, and their tools confirm it",
  async run(scene, tell) {
    for (const agent of exampleAgents(scene.stack)) {
      const tools = Object.values(agent.manifest.scopes).flatMap((scope) => scope.tools);
      tell.asked(`register ${agent.name}, which declares ${tools.map(({ ref }) => ref).join(", ")}`);
      const { status, body } = await controlPlane<{ status: string; manifest_version: number }>(scene, "/v1/agents", {
        bearer: scene.stack.bearers.admin,
        json: agent,
      });
      assert.equal(status, 201, JSON.stringify(body));
      assert.equal(body.status, "reconciled");
      tell.decided(`${body.status}, manifest version ${body.manifest_version}`);
    }
    tell.why("the MCP server and the ledger were asked, and advertise every tool that was declared");
  },
};
