import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnApp, startChild, waitUntil } from "@svc/test-support";
import { expect, onTestFinished, test } from "vitest";
import { openGuarded, routes, scope } from "./src/pep/guarded.ts";

/** It has no token, and no library of ours. */
const agent = `
  const answers = [await fetch(process.env.BASE + "/read"), await fetch(process.env.BASE + "/any/1", { method: "POST", body: "{}" })];
  process.exitCode = answers.every(({ status }) => status === 200) ? 0 : 1;`;

const toolOf = (target: string) => ({ ref: target, data_classes: ["docs"] });
const manifestOf = (targets: readonly string[]) => ({
  agent: "courier",
  manifest: { scopes: { [scope]: { hop_budget: 2, tools: targets.map(toolOf) } } },
});

test("an unchanged agent is gated by what its enforcement point records", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-pep-drift-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [traces, sessionFile] = [join(folder, "traces/"), join(folder, "session.json")];
  const settings = { SVC_TRACE_PATH: traces, SVC_PEP_SESSION_FILE: sessionFile };
  const stand = await openGuarded({ enforcementPoint: settings });
  onTestFinished(() => stand.stop());
  const { session, token: root } = await stand.api.consent(scope);
  const { token } = await stand.api.hop(session, root, { target: "courier", target_kind: "agent", data_class: "docs" });
  writeFileSync(sessionFile, JSON.stringify({ session_id: session, token }));
  const base = `${stand.enforcementPoint.url}/app`;
  await waitUntil("the session file to be read", async () => (await fetch(`${base}/read`)).status === 200);

  const calls = startChild(process.execPath, ["--input-type=module", "--eval", agent], { env: { BASE: base } });
  expect([await calls.exited, calls.output()]).toEqual([0, ""]);
  expect(await stand.enforcementPoint.stop()).toBe(0);

  const gate = async (targets: readonly string[], ...more: string[]) => {
    const file = join(folder, "courier.json");
    writeFileSync(file, JSON.stringify(manifestOf(targets)));
    const args = ["drift", "check", "--trace", traces, "--manifests", file, ...more];
    const run = spawnApp({ main: "@svc/cli/main", args, env: {} });
    return { code: await run.exited, output: run.output() };
  };
  const targets = routes.map(({ target }) => target);
  expect(await gate(targets, "--scope", scope)).toMatchObject({
    code: 0,
    output: expect.stringMatching(/^pass: 2 edges/m),
  });
  expect(await gate(targets.slice(0, 1), "--scope", scope)).toMatchObject({
    code: 1,
    output: expect.stringContaining(
      'human > courier -> "http:app/any" ("docs", scope "work"): TARGET_NOT_DECLARED, once',
    ),
  });
  expect(await gate(targets)).toMatchObject({ code: 2, output: expect.stringContaining("--scope") });
});
