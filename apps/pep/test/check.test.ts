import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Catalog, runCheck, unallowedTargets } from "../src/check.ts";
import { at, reply } from "./support/answers.ts";
import { controlPlaneDouble } from "./support/control-plane.ts";
import { configFrom } from "./support/pep.ts";
import { files, ledger, upstreamsFrom } from "./support/upstreams.ts";

const tool = (ref: string, ...data_classes: string[]) => ({ ref, data_classes });
const catalog = (tools: ReturnType<typeof tool>[], downstream_agents: string[] = []): Catalog => ({
  tools,
  downstream_agents,
});

describe("--check names what no policy could allow", () => {
  const small = { ...ledger, routes: ledger.routes.slice(1, 3) };

  test("by target and by data class, over all catalogs together", () => {
    const upstreams = upstreamsFrom([small]);
    expect(unallowedTargets(upstreams, [])).toHaveLength(2);
    const one = catalog([tool("http:ledger/read_entry", "finance")]);
    const other = catalog([tool("http:ledger/post_entry", "finance.other")]);
    expect(unallowedTargets(upstreams, [one, other])).toEqual([
      "ledger: http:ledger/post_entry for finance.entries is in no policy",
    ]);
  });

  test("an agent by its name", () => {
    const route = { methods: ["POST"], path: "/x", target: "auditor", target_kind: "agent", data_class: "finance" };
    const upstreams = upstreamsFrom([{ ...small, routes: [route] }]);
    expect(unallowedTargets(upstreams, [catalog([], ["auditor"])])).toEqual([]);
    expect(unallowedTargets(upstreams, [catalog([tool("auditor", "finance")])])).toHaveLength(1);
  });

  test("an MCP upstream's named tools and methods, and whether it has any tool at all", () => {
    const upstreams = upstreamsFrom([files]);
    expect(unallowedTargets(upstreams, [catalog([tool("mcp:files/read", "docs")])])).toEqual([
      "files: mcp:files/write_file for docs.drafts is in no policy",
      "files: mcp:files#resources/read for docs is in no policy",
    ]);
  });
});

describe("--check of one that asks for hops in one trip", () => {
  test.each<[string, boolean, number]>([
    ["warns where the control plane serves none, and finds no fault in it", false, 1],
    ["is silent where it does", true, 0],
  ])("%s", async (_name, isServed, warnings) => {
    const controlPlane = await controlPlaneDouble();
    const folder = mkdtempSync(join(tmpdir(), "pep-check-"));
    onTestFinished(async () => {
      await controlPlane.close();
      rmSync(folder, { recursive: true });
    });
    controlPlane.servesOneTrip = isServed;
    const allowing = catalog(ledger.routes.map(({ target, data_class }) => tool(target, data_class)));
    controlPlane.override = at("/v1/scopes/books/catalog", reply(200, JSON.stringify(allowing)));
    const configFile = join(folder, "pep.json");
    writeFileSync(configFile, JSON.stringify({ upstreams: [ledger] }));
    const config = configFrom({
      SVC_CONTROL_PLANE_URL: controlPlane.url,
      SVC_PEP_CONFIG: configFile,
      SVC_TELEMETRY_KEY: "key-of-this-test",
      SVC_PEP_ONE_TRIP: "true",
    });
    const said: string[] = [];
    expect(await runCheck(config, ["books"], "an-admin-token", (line) => said.push(line))).toBe(0);
    expect(said.filter((line) => /^WARNING: SVC_PEP_ONE_TRIP: .* SVC_ONE_TRIP_HOPS=true/.test(line))).toHaveLength(
      warnings,
    );
    expect(said).toHaveLength(warnings);
  });
});
