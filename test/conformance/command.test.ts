import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort, startApp, startChild, testBearers } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startOne } from "./src/stack.ts";

// Each test starts processes; one runs the whole suite.
const main = fileURLToPath(new URL("src/main.ts", import.meta.url));

async function conformance(...args: readonly string[]) {
  const { PATH, HOME = "/" } = process.env;
  const child = startChild(process.execPath, ["--conditions=@svc/source", main, ...args], { env: { PATH, HOME } });
  onTestFinished(async () => void (await child.stop()));
  return { code: await child.exited, output: child.output() };
}

const tokens = (planes: readonly (keyof typeof testBearers)[]) =>
  planes.flatMap((plane) => [`--${plane}-token`, testBearers[plane]]);

describe("on the embedded defaults, with nothing but tokens set", () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-conformance-"));
  let url: string;
  let stop: () => Promise<unknown>;
  beforeAll(async () => {
    // The embedded server's account needs access to the parent folder.
    chmodSync(folder, 0o711);
    const port = String(await freePort());
    url = `http://127.0.0.1:${port}`;
    const controlPlane = await startApp({
      main: "@svc/control-plane/main",
      readyUrl: `${url}/readyz`,
      env: {
        PORT: port,
        SVC_DEV: "true",
        SVC_DATA_DIR: join(folder, "data"),
        SVC_ADMIN_TOKEN: testBearers.admin,
        SVC_AUDIT_TOKEN: testBearers.audit,
        SVC_IDENTITY_TOKEN: testBearers.identity,
        SVC_ENFORCEMENT_TOKEN: testBearers.enforcement,
        SVC_DISCOVERY_ALLOW: "127.0.0.0/8",
      },
    });
    stop = controlPlane.stop;
  });
  afterAll(async () => {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test("the whole suite passes, and a skipped test names what it needs", async () => {
    const report = join(folder, "report.json");
    const { code, output } = await conformance(
      ...["--base-url", url, "--loopback-discovery", "--report", report],
      ...tokens(["admin", "audit", "identity", "enforcement"]),
    );
    const results: { status: string; fullName: string; failureMessages: string[] }[] = existsSync(report)
      ? JSON.parse(readFileSync(report, "utf8")).testResults.flatMap(
          ({ assertionResults }: { assertionResults: object[] }) => assertionResults,
        )
      : [];
    const withStatus = (...of: readonly string[]) => results.filter(({ status }) => of.includes(status));
    expect(withStatus("failed")).toEqual([]);
    expect([code, output.slice(-3_000)]).toEqual([0, expect.any(String)]);
    expect(withStatus("passed").length).toBeGreaterThan(450);
    const skipped = results.filter(({ status }) => status !== "passed");
    for (const { fullName } of skipped) expect(fullName).toMatch(/\(needs the issuer's key\)/);
  });

  test("a refused admin token is reported before any test runs", async () => {
    const { code, output } = await conformance("--base-url", url, "--admin-token", "x".repeat(40));
    expect([code, output]).toEqual([2, expect.stringContaining("--admin-token is refused (401)")]);
  });
});

describe("a deployment that cannot be tested is reported in one line, before any test runs", () => {
  test.each([
    ["identities required", { SVC_IDENTITY_REQUIRED: "true" }, "SVC_IDENTITY_REQUIRED=false"],
    ["rates limited", { SVC_RATE_LIMIT_PER_BEARER: "3/600" }, "unset SVC_RATE_LIMIT_PER_BEARER"],
  ])("%s", async (_what, env, line) => {
    const { api, stop } = await startOne(env);
    onTestFinished(stop);
    const { code, output } = await conformance("--base-url", api.url, ...tokens(["admin"]));
    expect([code, output.trim().split("\n")]).toEqual([2, [expect.stringContaining(line)]]);
  });

  test.each([
    ["no server listens", ["--base-url", "http://127.0.0.1:1", "--admin-token", "x"], "no response"],
    ["no admin token", ["--base-url", "http://127.0.0.1:1"], "--base-url needs --admin-token"],
    ["no URL", ["--base-url", "here", "--admin-token", "x"], "--base-url must be a URL"],
    ["an unknown option", ["--url", "x"], "--url"],
  ])("%s", async (_what, args, line) => {
    const { code, output } = await conformance(...args);
    expect([code, output]).toEqual([2, expect.stringContaining(line)]);
  });
});
