import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Child, spawnApp, startEnforcementPoint } from "@svc/test-support";
import { Ajv } from "ajv";
import { afterAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { flags } from "../src/start/help.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-pep-flags-"));
afterAll(() => rmSync(folder, { recursive: true }));

const configFile = join(folder, "pep.yaml");
const secretFile = join(folder, "api-key");
const small = { when: { "/amount": { max: 5 }, "/cc": { absent: true } }, data_class: "finance.small" };
const upstreams = {
  upstreams: [
    {
      name: "ledger",
      url: "http://127.0.0.1:9/base",
      mode: "observe",
      credential: { header: "x-api-key", value_file: secretFile },
      routes: [
        { methods: ["GET"], path: "/entries/:id", target: "http:ledger/read", data_class: "finance.entries" },
        { methods: ["POST"], path: "/entries", target: "http:ledger/post", classify: [small] },
      ],
    },
    {
      name: "files",
      url: "http://127.0.0.1:9/mcp",
      protocol: "mcp",
      data_class: "docs",
      tools: { pay: { classify: [small] } },
    },
    {
      name: "notes",
      command: ["npx", "-y", "some-server"],
      env: { API_KEY: "the-key-of-the-notes", OTHER: { file: secretFile } },
      protocol: "mcp",
    },
  ],
};
writeFileSync(secretFile, "the-api-key-of-the-ledger");
writeFileSync(configFile, JSON.stringify(upstreams));

const env = {
  SVC_CONTROL_PLANE_URL: "http://127.0.0.1:9",
  SVC_PEP_CONFIG: configFile,
  SVC_TELEMETRY_KEY: "the-key-of-the-pseudonyms",
  SVC_PEP_GRACE_SECONDS: "7",
};
const runWith = async (more: Record<string, string>, ...args: string[]) => {
  const child: Child = spawnApp({ main: "@svc/pep/main", args, env: { ...env, ...more } });
  return { child, code: await child.exited };
};
const run = (...args: string[]) => runWith({}, ...args);

test("--print-config shows the effective settings, defaults included, and no secret", async () => {
  const { child, code } = await run("--print-config");
  expect(code).toBe(0);
  const printed = parse(child.stdout());
  expect(printed.settings).toMatchObject({
    SVC_PEP_GRACE_SECONDS: "7",
    SVC_PEP_LISTEN: "127.0.0.1:16001",
    SVC_TELEMETRY_KEY: "(set, not shown)",
  });
  expect(printed.upstreams.map(({ mode }: { mode: string }) => mode)).toEqual(["observe", "enforce", "enforce"]);
  expect(printed.upstreams[2].env).toEqual({ API_KEY: "(set, not shown)", OTHER: { file: secretFile } });
  expect(printed.upstreams[0].credential.value_file).toBe(secretFile);
  expect(printed.upstreams[0].routes[1].classify).toEqual([small]);
  for (const secret of [env.SVC_TELEMETRY_KEY, "the-api-key-of-the-ledger", "the-key-of-the-notes"])
    expect(child.output()).not.toContain(secret);
});

test("--print-config shows the proxies that upstreams are reached through, in either spelling, without their credentials", async () => {
  const { child, code } = await runWith(
    {
      http_proxy: "http://proxy.internal:3128/?key=hidden-query",
      HTTP_PROXY: "http://not-in-force:1",
      HTTPS_PROXY: "https://user:p%40ss-hidden@secure.internal",
      NO_PROXY: "ledger.internal,10.0.0.0",
    },
    "--print-config",
  );
  expect(code).toBe(0);
  expect(parse(child.stdout()).proxies).toEqual({
    HTTP_PROXY: "http://proxy.internal:3128",
    HTTPS_PROXY: "https://secure.internal (its credentials are set, not shown)",
    NO_PROXY: "ledger.internal,10.0.0.0",
  });
  for (const secret of ["hidden", "user", "p%40ss"]) expect(child.output()).not.toContain(secret);
  expect(parse((await run("--print-config")).child.stdout())).not.toHaveProperty("proxies");
});

test("--schema accepts what the enforcement point accepts, and rejects a misspelled member", async () => {
  const { child, code } = await run("--schema");
  expect(code).toBe(0);
  const validate = new Ajv({ strict: false }).compile(JSON.parse(child.stdout()));
  expect(validate(upstreams)).toBe(true);
  expect(validate({ upstreams: [{ ...upstreams.upstreams[0], mdoe: "observe" }] })).toBe(false);
  expect(validate({ upstreams: [{ name: "ledger" }] })).toBe(false);
  const misspelled = { ...small, when: { "/amount": { maximum: 5 } } };
  expect(validate({ upstreams: [{ ...upstreams.upstreams[1], tools: { pay: { classify: [misspelled] } } }] })).toBe(
    false,
  );
});

test("--help shows every flag with examples", async () => {
  const { child, code } = await run("--help");
  expect(code).toBe(0);
  for (const { flag } of flags.filter(({ flag }) => flag !== "none"))
    expect(child.stdout()).toContain(`svc-pep ${flag}`);
  expect(child.stdout()).toContain("Examples:");
});

test("an unknown flag stops the start", async () => {
  const { child, code } = await run("--chekc");
  expect(code).toBe(2);
  expect(child.output()).toContain("--help");
});

describe("POST /__svc/quit", () => {
  const start = (settings: Record<string, string>) =>
    startEnforcementPoint("http://127.0.0.1:9", configFile, { SVC_PEP_GRACE_SECONDS: "0", ...settings });

  test("ends the process where the setting allows it, for a local program alone", async () => {
    const pep = await start({ SVC_PEP_QUIT: "true" });
    const url = `${pep.adminUrl}/__svc/quit`;
    expect((await fetch(url)).status).toBe(405);
    // A page in a browser on this machine sends its Origin.
    expect((await fetch(url, { method: "POST", headers: { origin: "https://evil.example" } })).status).toBe(403);
    expect(pep.hasExited()).toBe(false);
    expect((await fetch(url, { method: "POST" })).status).toBe(202);
    expect(await pep.exited).toBe(0);
  });

  test("is 404 without the setting", async () => {
    const pep = await start({});
    expect((await fetch(`${pep.adminUrl}/__svc/quit`, { method: "POST" })).status).toBe(404);
    expect(pep.hasExited()).toBe(false);
    await pep.stop();
  });
});
