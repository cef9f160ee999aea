import { describe, expect, test } from "vitest";
import { type Catalog, unallowedTargets } from "../src/start/check.ts";
import { files, ledger, upstreamsFrom } from "./support/upstreams.ts";

const tool = (ref: string, ...data_classes: string[]) => ({ ref, data_classes, privileged: false });
const catalog = (tools: ReturnType<typeof tool>[], downstream_agents: string[] = []): Catalog => ({
  tools,
  downstream_agents,
});

describe("--check lists the targets that no policy allows", () => {
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
