import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, spawnApp, startApp, waitUntil } from "@svc/test-support";
import { expect, onTestFinished, test } from "vitest";
import { readConfig } from "../src/start/config.ts";
import { controlPlaneDouble } from "./support/control-plane.ts";
import { ledger } from "./support/upstreams.ts";

function settingsIn(upstreams: unknown[] = []): Record<string, string> {
  const folder = mkdtempSync(join(tmpdir(), "pep-main-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "pep.json");
  writeFileSync(file, JSON.stringify({ upstreams }));
  return {
    SVC_CONTROL_PLANE_URL: "http://plane.internal",
    SVC_PEP_CONFIG: file,
    SVC_PEP_LISTEN: "127.0.0.1:0",
    SVC_PEP_ADMIN_LISTEN: "127.0.0.1:0",
    SVC_TELEMETRY_KEY: "k",
  };
}

test("invalid settings stop the start, with one line per fault", async () => {
  const child = spawnApp({ main: "@svc/pep/main", env: { SVC_PEP_MODE: "off", SVC_PEP_LISTEN: "nowhere" } });
  expect(await child.exited).toBe(1);
  const lines = child.output().trim().split("\n");
  expect(lines.slice(0, -1).map((line) => line.split(":")[0])).toEqual([
    ...["SVC_CONTROL_PLANE_URL", "SVC_PEP_CONFIG", "SVC_PEP_LISTEN", "SVC_PEP_MODE", "SVC_TELEMETRY_KEY"],
  ]);
  expect(lines.at(-1)).toContain("did not start");
});

test("an invalid configuration file stops the start, with one line per fault", async () => {
  const child = spawnApp({ main: "@svc/pep/main", env: settingsIn([{ name: "a", url: "nowhere", mode: "off" }]) });
  expect(await child.exited).toBe(1);
  expect(child.output()).toMatch(/upstreams\.0\.url: .*\n.*upstreams\.0\.mode: /);
  expect(child.output()).not.toMatch(/\n\s+at /);
});

test("the process serves, reads its file again on SIGHUP, and ends within its grace period on SIGTERM", async () => {
  const adminListen = `127.0.0.1:${await freePort()}`;
  const env: Record<string, string> = {
    ...settingsIn(),
    SVC_PEP_ADMIN_LISTEN: adminListen,
    SVC_PEP_GRACE_SECONDS: "1",
    SVC_UNKNOWN_SETTING: "x",
  };
  const child = await startApp({ main: "@svc/pep/main", env, readyUrl: `http://${adminListen}/__svc/readyz` });
  const warnings = ["SVC_UNKNOWN_SETTING", "SVC_CONTROL_PLANE_URL: tokens travel in plain text"];
  for (const warning of warnings)
    await waitUntil(`WARNING: ${warning}`, () => child.output().includes(`WARNING: ${warning}`));
  writeFileSync(env.SVC_PEP_CONFIG ?? "", "{");
  child.kill("SIGHUP");
  await waitUntil("the fault to be told", () => child.output().includes("is neither YAML nor JSON"));
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
  for (const line of child.stdout().trim().split("\n"))
    expect(JSON.parse(line)).toHaveProperty("authz.component", "pep");
});

test("--check compares the configured targets with the catalogs of the scopes it is given", async () => {
  const controlPlane = await controlPlaneDouble();
  onTestFinished(() => controlPlane.close());
  controlPlane.override = ({ path, headers }, response) => {
    const isCatalog = path === "/v1/scopes/a%2Fb/catalog" && headers.authorization === "Bearer admin";
    const tools = ledger.routes.slice(1).map(({ target, data_class }) => ({
      ref: target,
      data_classes: [data_class],
      privileged: false,
    }));
    response.writeHead(isCatalog ? 200 : 401).end(JSON.stringify({ tools, downstream_agents: [] }));
    return true;
  };
  const env = { ...settingsIn([ledger]), SVC_CONTROL_PLANE_URL: controlPlane.url };
  const run = async (args: string[], more: Record<string, string>) => {
    const child = spawnApp({ main: "@svc/pep/main", args: ["--check", ...args], env: { ...env, ...more } });
    return [await child.exited, child.output()];
  };
  expect(await run(["a/b"], { SVC_ADMIN_TOKEN: "admin" })).toEqual([
    1,
    "ledger: http:ledger/list_entries for finance.entries is in no policy\n",
  ]);
  expect(await run(["a/b"], { SVC_ADMIN_TOKEN: "other" })).toEqual([2, expect.stringContaining("401")]);
  expect(await run([], { SVC_ADMIN_TOKEN: "admin" })).toEqual([2, expect.stringContaining("--check needs")]);
});

test("a session file beside a listener that others reach is warned about, with what to do", async () => {
  const listening = async (listen: string) => {
    const env = { ...settingsIn(), SVC_PEP_LISTEN: listen, SVC_PEP_SESSION_FILE: "/nowhere/session.json" };
    const child = spawnApp({ main: "@svc/pep/main", env: { ...env, SVC_PEP_GRACE_SECONDS: "0" } });
    onTestFinished(async () => void (await child.stop()));
    await waitUntil("it to listen", () => child.output().includes("listening on") || child.hasExited());
    return child.output();
  };
  const [reached, own] = await Promise.all([listening("[::]:0"), listening("127.0.0.1:0")]);
  const warning =
    /^WARNING: SVC_PEP_SESSION_FILE: every client that reaches \[::\]:(\d+) acts as the agent\. Set SVC_PEP_LISTEN to 127\.0\.0\.1:\1,/m;
  expect(reached).toMatch(warning);
  expect(own).not.toContain("SVC_PEP_SESSION_FILE");
});

test("the admin port is reached over IPv4 and IPv6 by default", async () => {
  const { SVC_PEP_ADMIN_LISTEN: _, ...env } = settingsIn();
  const read = readConfig(env);
  expect(read.ok && read.config.adminListen).toEqual({ host: "::", port: 16_020 });
  const port = await freePort();
  const readyUrl = `http://127.0.0.1:${port}/__svc/readyz`;
  await startApp({ main: "@svc/pep/main", env: { ...env, SVC_PEP_ADMIN_LISTEN: `[::]:${port}` }, readyUrl });
  expect((await fetch(`http://[::1]:${port}/__svc/readyz`)).status).toBe(200);
});
