import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStand } from "@svc/test-conformance/stand";
import { waitUntil } from "@svc/test-support";
import { afterAll, describe, expect, test } from "vitest";
import { startConformanceServer } from "./src/mcp/conformance-server.ts";
import { suiteAgainst } from "./src/mcp/conformance-suite.ts";

const tools = [
  ...["test_simple_text", "test_image_content", "test_audio_content", "test_embedded_resource", "test_sampling"],
  ...["test_multiple_content_types", "test_error_handling", "test_tool_with_logging", "test_tool_with_progress"],
  ...["test_elicitation", "json_schema_2020_12_tool", "test_elicitation_sep1034_defaults", "test_reconnection"],
  ...["test_elicitation_sep1330_enums"],
];
const methods = [
  ...["resources/list", "resources/read", "resources/templates/list", "resources/subscribe", "resources/unsubscribe"],
  ...["prompts/list", "prompts/get", "completion/complete", "logging/setLevel"],
];

// Run once both ways during collection: each test compares one scenario. The suite sends no credentials, so its session
// is the ambient one.
const folder = mkdtempSync(join(tmpdir(), "svc-mcp-"));
const sessionFile = join(folder, "session.json");
const server = await startConformanceServer();
const stand = await openStand({
  scopes: {
    work: {
      hop_budget: 2,
      tools: [...tools.map((name) => `/${name}`), ...methods.map((name) => `#${name}`)].map((name) => ({
        ref: `mcp:suite${name}`,
        data_classes: ["docs"],
      })),
    },
  },
  upstreams: () => [
    {
      name: "suite",
      url: server.url,
      protocol: "mcp",
      data_class: "docs",
      tools: Object.fromEntries(methods.map((method) => [`#${method}`, "docs"])),
    },
  ],
  enforcementPoint: { SVC_PEP_SESSION_FILE: sessionFile },
});
afterAll(async () => {
  await stand.stop();
  await server.stop();
  rmSync(folder, { recursive: true });
});
const { session, token } = await stand.api.consent("work");
writeFileSync(sessionFile, JSON.stringify({ session_id: session, token }));
const url = `${stand.enforcementPoint.url}/suite`;
await waitUntil("the session to be reloaded", async () => (await fetch(url)).status !== 401);
const straight = await suiteAgainst(server.url);
const through = await suiteAgainst(url);

describe("the official conformance suite gives a server the same result through the enforcement point as directly", () => {
  const same = Object.keys(straight).filter((scenario) => scenario !== "dns-rebinding-protection");

  test.each(same)("%s", (scenario) => {
    expect(through[scenario]).toEqual(straight[scenario]);
  });

  test("and most of its checks pass", () => {
    const passed = same.filter((scenario) => straight[scenario]?.every((check) => check.endsWith(": SUCCESS")));
    expect(passed.length).toBeGreaterThanOrEqual(20);
  });

  test("except that the enforcement point protects an unprotected server from DNS rebinding", () => {
    const rejects = (outcome: string) => `localhost-host-rebinding-rejected: ${outcome}`;
    expect(straight["dns-rebinding-protection"]).toContain(rejects("FAILURE"));
    expect(through["dns-rebinding-protection"]).toContain(rejects("SUCCESS"));
  });
});
