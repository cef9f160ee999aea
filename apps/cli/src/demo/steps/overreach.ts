import assert from "node:assert/strict";
import { controlPlane, type Scene } from "../scene.ts";
import type { Step } from "../teller.ts";

export const overreachStep: Step<Scene> = {
  title: "An agent that declares more than there is gets a remedy for each line",
  async run(scene, tell) {
    const ref = "mcp:everything/delete-everything";
    tell.asked(`register a third agent, which declares ${ref}`);
    const { status, body } = await controlPlane<{
      error: { code: string };
      details: { diff: { ref: string; kind: string; remedy: string }[] };
    }>(scene, "/v1/agents", {
      bearer: scene.stack.bearers.admin,
      json: {
        name: "intern",
        manifest: {
          discovery: { kind: "mcp", name: "everything", url: scene.stack.exampleMcp },
          scopes: { cleanup: { hop_budget: 1, tools: [{ ref, data_classes: ["notes"] }] } },
        },
      },
    });
    assert.equal(status, 422, JSON.stringify(body));
    assert.equal(body.error.code, "reconciliation_rejected");
    const [entry] = body.details.diff;
    assert.equal(entry?.ref, ref);
    tell.decided(`${status} ${body.error.code}: ${entry.kind}`);
    tell.why(entry.remedy);
  },
};
