import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startOne } from "@svc/test-conformance/stack";
import { startEnforcementPoint } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clientScenarios, suiteOfClient } from "./src/mcp/conformance-suite.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-mcp-client-"));
const configFile = join(folder, "pep.json");
const sessionFile = join(folder, "session.json");
const tools: Readonly<Record<(typeof clientScenarios)[number], readonly string[]>> = {
  initialize: [],
  tools_call: ["add_numbers"],
  "elicitation-sep1034-client-defaults": ["test_client_elicitation_defaults"],
  "sse-retry": ["test_reconnection"],
};

const stops: (() => unknown)[] = [() => rmSync(folder, { recursive: true })];
let url: string;
beforeAll(async () => {
  const { api, stop } = await startOne();
  stops.unshift(stop);
  // `none` is never called: it grants the methods of a server without tools.
  const refs = clientScenarios.flatMap((scenario) =>
    ["none", ...tools[scenario]].map((tool) => `mcp:${scenario.replaceAll("_", "-")}/${tool}`),
  );
  const declared = refs.map((ref) => ({ ref, data_classes: ["docs"] }));
  await api.attest("courier", { work: { hop_budget: 2, tools: declared } });
  const { session, token } = await api.consent("work");
  writeFileSync(sessionFile, JSON.stringify({ session_id: session, token }));
  writeFileSync(configFile, JSON.stringify({ upstreams: [] }));
  const pep = await startEnforcementPoint(api.url, configFile, {
    SVC_PEP_SESSION_FILE: sessionFile,
    SVC_PEP_GRACE_SECONDS: "0",
  });
  stops.unshift(pep.stop);
  url = pep.url;
});
afterAll(async () => {
  for (const stop of stops) await stop();
});

describe("the official conformance suite gives a client the same result through the enforcement point as directly", () => {
  test.each(clientScenarios)("%s", async (scenario) => {
    const [straight, through] = await Promise.all([
      suiteOfClient(scenario),
      suiteOfClient(scenario, { url, configFile }),
    ]);
    const checks = Object.values(straight).flat();
    expect(checks.some((check) => check.endsWith(": SUCCESS"))).toBe(true);
    expect(checks.filter((check) => check.endsWith(": FAILURE"))).toEqual([]);
    expect(through).toEqual(straight);
  });
});
