import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStand } from "@svc/test-conformance/stand";
import { waitUntil } from "@svc/test-support";
import { afterAll, describe, expect, test } from "vitest";
import { startConformanceServer } from "./src/mcp/conformance-server.ts";
import { type Revision, suiteAgainst } from "./src/mcp/conformance-suite.ts";
import { startModernConformanceServer } from "./src/mcp/modern-conformance-server.ts";

const tools = [
  ...["test_simple_text", "test_image_content", "test_audio_content", "test_embedded_resource", "test_sampling"],
  ...["test_multiple_content_types", "test_error_handling", "test_tool_with_logging", "test_tool_with_progress"],
  ...["test_elicitation", "json_schema_2020_12_tool", "test_elicitation_sep1034_defaults", "test_reconnection"],
  ...["test_elicitation_sep1330_enums", "test_missing_capability", "test_streaming_elicitation", "test_logging_tool"],
  ...["elicitation", "sampling", "list_roots", "request_state", "multiple_inputs", "multi_round"].map(
    (name) => `test_input_required_result_${name}`,
  ),
  ...["tampered_state", "capabilities"].map((name) => `test_input_required_result_${name}`),
];
const methods = [
  ...["resources/list", "resources/read", "resources/templates/list", "resources/subscribe", "resources/unsubscribe"],
  ...["prompts/list", "prompts/get", "completion/complete", "logging/setLevel"],
];
const servers: Record<Revision, Awaited<ReturnType<typeof startConformanceServer>>> = {
  "2025-11-25": await startConformanceServer(),
  "2026-07-28": await startModernConformanceServer(),
};

// Run once both ways during collection: each test compares one scenario. The suite sends no credentials, so its session
// is the ambient one.
const folder = mkdtempSync(join(tmpdir(), "svc-mcp-"));
const sessionFile = join(folder, "session.json");
const stand = await openStand({
  scopes: {
    work: {
      hop_budget: 2,
      tools: Object.keys(servers).flatMap((revision) =>
        [...tools.map((name) => `/${name}`), ...methods.map((name) => `#${name}`)].map((name) => ({
          ref: `mcp:${revision}${name}`,
          data_classes: ["docs"],
        })),
      ),
    },
  },
  upstreams: () =>
    Object.entries(servers).map(([name, { url }]) => ({
      ...{ name, url, protocol: "mcp", data_class: "docs" },
      tools: Object.fromEntries(methods.map((method) => [`#${method}`, "docs"])),
    })),
  enforcementPoint: { SVC_PEP_SESSION_FILE: sessionFile },
});
afterAll(async () => {
  await stand.stop();
  await Promise.all(Object.values(servers).map((server) => server.stop()));
  rmSync(folder, { recursive: true });
});
const { session, token } = await stand.api.consent("work");
writeFileSync(sessionFile, JSON.stringify({ session_id: session, token }));
const urlOf = (revision: Revision) => `${stand.enforcementPoint.url}/${revision}`;
await waitUntil("the session to be reloaded", async () => (await fetch(urlOf("2025-11-25"))).status !== 401);

const runs = [];
for (const [revision, passing] of [
  ["2025-11-25", 20],
  ["2026-07-28", 20],
] as const) {
  const straight = await suiteAgainst(servers[revision].url, revision);
  runs.push({ revision, passing, straight, through: await suiteAgainst(urlOf(revision), revision) });
}

describe.each(runs)(
  "what the official suite requires of $revision gives a server the same result through the enforcement point as directly",
  ({ straight, through, passing }) => {
    const same = Object.keys(straight).filter((scenario) => scenario !== "dns-rebinding-protection");

    test.each(same)("%s", (scenario) => {
      expect(through[scenario]).toEqual(straight[scenario]);
    });

    test("and most of its checks pass", () => {
      const passed = same.filter((scenario) => straight[scenario]?.every((check) => check.endsWith(": SUCCESS")));
      expect(passed.length).toBeGreaterThanOrEqual(passing);
    });

    test("except that the enforcement point protects an unprotected server from DNS rebinding", () => {
      const rejects = (outcome: string) => `localhost-host-rebinding-rejected: ${outcome}`;
      expect(straight["dns-rebinding-protection"]).toContain(rejects("FAILURE"));
      expect(through["dns-rebinding-protection"]).toContain(rejects("SUCCESS"));
    });
  },
);
