import assert from "node:assert/strict";
import { ManifestRejected } from "@svc/client";
import { exampleAgents } from "../examples/agents.ts";
import type { Step } from "./scene.ts";

export const declarations: readonly Step[] = [
  {
    title: "Two agents declare what they may do, and their tools confirm it",
    async run({ stack, client }, report) {
      for (const agent of exampleAgents(stack)) {
        const tools = Object.values(agent.manifest.scopes).flatMap((scope) => scope.tools ?? []);
        report.asked(`register ${agent.name}, which declares ${tools.map(({ ref }) => ref).join(", ")}`);
        const { status, manifestVersion } = await client.admin.registerAgent(agent);
        assert.equal(status, "reconciled");
        report.decided(`${status}, manifest version ${manifestVersion}`);
      }
      report.why("the MCP server and the ledger advertise every declared tool");
    },
  },
  {
    title: "An agent that declares a tool that does not exist gets a remedy",
    async run({ stack, client }, report) {
      const ref = "mcp:everything/delete-everything";
      report.asked(`register a third agent, which declares ${ref}`);
      const manifest = {
        discovery: { kind: "mcp" as const, name: "everything", url: stack.exampleMcp },
        scopes: { cleanup: { hop_budget: 1, tools: [{ ref, data_classes: ["notes"] }] } },
      };
      const rejection = await client.admin.registerAgent({ name: "intern", manifest }).catch((cause: unknown) => cause);
      assert(rejection instanceof ManifestRejected, String(rejection));
      const [entry] = rejection.diff;
      assert.equal(entry?.ref, ref);
      report.decided(`${rejection.status} ${rejection.code}: ${entry.kind}`);
      report.why(entry.remedy);
    },
  },
];
