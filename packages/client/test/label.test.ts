import { describe, expect, test } from "vitest";
import { fakeClient } from "./support/fake-client.ts";

const tool = (ref: string, result_taint?: "untrusted_external") => ({
  ref,
  data_classes: ["web"],
  ...(result_taint && { result_taint }),
});
const manifest = {
  scopes: {
    one: {
      hop_budget: 2,
      tools: [tool("http:web/fetch", "untrusted_external"), tool("mcp:files/read"), tool("http:shared/x")],
    },
    two: {
      hop_budget: 2,
      tools: [tool("mcp:files/open", "untrusted_external"), tool("http:shared/x", "untrusted_external")],
    },
  },
};

describe("without a manifest", () => {
  test.each([
    ["a trusted source", "http:a", ["http:a"], "trusted_internal"],
    ["an unmatched source", "http:b", ["http:a"], "untrusted_external"],
    ["a source that only begins the same", "http:a/b", ["http:a"], "untrusted_external"],
    ["no trusted sources", "http:a", undefined, "untrusted_external"],
  ])("%s", (_, source, trusted, provenance) => {
    expect(fakeClient().svc.wrapResult({ x: 1 }, source, trusted)).toEqual({ value: { x: 1 }, provenance });
  });
});

describe("with a manifest", () => {
  test.each([
    ["a declared tool with trusted results", "mcp:files/read", [], "trusted_internal"],
    [
      "a declared tool with untrusted results, whatever the caller trusts",
      "http:web/fetch",
      ["http:web/fetch"],
      "untrusted_external",
    ],
    ["a tool that one of its scopes calls untrusted", "http:shared/x", [], "untrusted_external"],
    ["an MCP server, as its worst tool", "mcp:files", ["mcp:files"], "untrusted_external"],
    ["an undeclared source", "http:other", [], "untrusted_external"],
    ["an undeclared source that the caller trusts", "file:settings", ["file:settings"], "trusted_internal"],
  ])("%s", (_, source, trusted, provenance) => {
    const { svc } = fakeClient();
    svc.useManifest(manifest);
    expect(svc.wrapResult("v", source, trusted).provenance).toBe(provenance);
  });

  test("an invalid manifest is rejected and the earlier one stays", () => {
    const { svc } = fakeClient();
    svc.useManifest(manifest);
    expect(() => svc.useManifest({ scopes: {} })).toThrow(TypeError);
    expect(svc.wrapResult("v", "mcp:files/read").provenance).toBe("trusted_internal");
  });
});
