import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Child, type DevStack, freePort, spawnDev, startChild, waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { installApplication, thirdParties } from "./src/application.ts";
import { danglingMaps, lint, wrongTypes } from "./src/fitness.ts";
import { build, closureOf, libraries, manifestOf, type Packed, packAll, programs } from "./src/pack.ts";
import { quickstarts } from "./src/quickstarts.ts";
import { nodes } from "./src/runtimes.ts";

/** The libraries as users get them: tarballs in an empty project, plain JavaScript, a running stack. */
let work: string;
let application: string;
let packed: readonly Packed[];
let stack: DevStack;
let server: Child;
let env: Record<string, string>;

const repository = "git+https://git.example/owner/project.git";
const quickstarted = ["client", "verifier", "drift", "core", "classify", "tokens", "telemetry", "host"];

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), "svc-tarballs-"));
  application = join(work, "application");
  await build();
  const [running, tarballs] = await Promise.all([
    spawnDev(["--with-example", "--port", "0"]),
    packAll(work, repository),
  ]);
  [stack, packed] = [running, tarballs];
  await installApplication({
    folder: application,
    packed,
    installed: [...quickstarted.map((name) => `@svc/${name}`), "hono", "@hono/node-server"],
  });
  mkdirSync(join(application, "manifests"));
  for (const name of quickstarted) {
    for (const [file, text] of quickstarts(name)) writeFileSync(join(application, file), text);
  }
  const port = String(await freePort());
  env = {
    PATH: process.env.PATH ?? "",
    SVC_CONTROL_PLANE_URL: stack.control_plane,
    SVC_ADMIN_TOKEN: stack.admin_token,
    SVC_IDENTITY_TOKEN: stack.identity_token,
    LEDGER_URL: `http://127.0.0.1:${port}`,
    PORT: port,
  };
  server = startChild(process.execPath, ["server.js"], { cwd: application, env });
  await waitUntil("the resource server to listen", () => server.hasExited() || server.output().includes("listening"));
});
afterAll(async () => {
  await Promise.all([server?.stop(), stack?.stop()]);
  rmSync(work, { recursive: true, force: true });
});

/** A program's output and exit code. */
async function program(file: string, more: Record<string, string> = {}) {
  const child = startChild(process.execPath, [file], { cwd: application, env: { ...env, ...more } });
  const code = await child.exited;
  return { code, output: child.output(), stdout: child.stdout() };
}

describe("each tarball", () => {
  test.each([...libraries(), ...programs()].map(({ manifest }) => manifest))("$name can be published", async (each) => {
    const { tarball, published } = packed.find(({ manifest }) => manifest.name === each.name) ?? expect.fail();
    expect(published.repository).toMatchObject({
      url: repository,
      directory: expect.stringMatching(/^(packages|apps)\//),
    });
    await lint(tarball);
    await danglingMaps(tarball);
    if (each.bin === undefined) await wrongTypes(tarball);
  });
});

describe("the quickstarts of the READMEs, installed from tarballs", () => {
  test("the resource server refuses a call without a token", async () => {
    expect(server.hasExited(), server.output()).toBe(false);
    const response = await fetch(`${env.LEDGER_URL}/entries/7`);
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ error: { code: "missing_token" } });
  });

  describe.each(nodes)("on $name", ({ node }) => {
    test.skipIf(!node)("the agent reads, posts with a transaction token, and reports the denied call", async () => {
      // The drift gate reads the runs of one.
      const traces = node === process.execPath ? "traces/" : "other-traces/";
      const withoutBearers = "env -u SVC_ADMIN_TOKEN -u SVC_AUDIT_TOKEN -u SVC_IDENTITY_TOKEN";
      const line = `"${node}" backend.js | ${withoutBearers} "${node}" agent.js`;
      const child = startChild("sh", ["-c", line], { cwd: application, env: { ...env, SVC_TRACE_PATH: traces } });
      expect([await child.exited, child.output()]).toEqual([
        0,
        "read 200\nposted 201\ndenied TARGET_NOT_DECLARED alice > planner\n",
      ]);
    });
  });

  test("the drift gate finds the denied call, names the missing declaration, and passes after it is declared", async () => {
    const { code, output } = await program("gate.js");
    expect({ code, output }).toEqual({ code: 1, output: quickstarts("drift").get("told") });
    const manifest = join(application, "manifests/planner.yaml");
    const declared = '        - {ref: "mcp:everything/get-env", data_classes: [notes]}\n';
    writeFileSync(manifest, readFileSync(manifest, "utf8") + declared);
    const again = await program("gate.js");
    expect(again.code, again.output).toBe(0);
  });
});

test.each([
  ["core", "decide"],
  ["classify", "classify"],
  ["tokens", "tokens"],
  ["telemetry", "telemetry"],
  ["host", "settings"],
])("the quickstart of @svc/%s prints what its README says", async (name, file) => {
  const { code, output, stdout } = await program(`${file}.js`);
  expect(code, output).toBe(0);
  const printed = stdout.split("\n").filter((line) => !line.startsWith('{"level":'));
  expect(printed.join("\n").trimEnd()).toBe(quickstarts(name).get(`${file}.told`)?.trimEnd());
});

/** Other programs do not import these. */
const internal = ["console", "embedded", "hop", "seals"];

test("every library for other programs has a quickstart, and this file runs it", () => {
  const names = libraries().map(({ manifest }) => manifest.name.replace("@svc/", ""));
  expect(names.filter((name) => !internal.includes(name)).toSorted()).toEqual(quickstarted.toSorted());
  for (const name of quickstarted) expect([...quickstarts(name).keys()], name).not.toEqual([]);
});

describe("the third-party packages of an installation", () => {
  test.each([
    ["client", ["@noble/hashes", "canonicalize", "jose", "lru-cache", "yaml", "zod"]],
    ["verifier", ["@noble/hashes", "canonicalize", "jose", "lru-cache", "zod"]],
    ["drift", ["yaml", "zod"]],
  ])("%s installs no more than %j", (name, wanted) => {
    const brought = closureOf([`@svc/${name}`], packed).flatMap((each) => thirdParties(each));
    expect([...new Set(brought.map((each) => each.name))].toSorted()).toEqual(wanted);
    for (const { folder } of brought) expect(manifestOf(folder).dependencies ?? {}).toEqual({});
  });

  test("the client loads jose, zod, canonicalize and lru-cache, and no other third-party package", async () => {
    writeFileSync(
      join(application, "loaded.js"),
      `import { registerHooks } from "node:module";
       const loaded = new Set();
       registerHooks({ load: (url, context, next) => (loaded.add(url), next(url, context)) });
       await import("@svc/client");
       const names = [...loaded].map((url) => url.match(/.*node_modules\\/((?:@[^/]+\\/)?[^/]+)/)?.[1]);
       console.log(JSON.stringify([...new Set(names)].filter((name) => name && !name.startsWith("@svc/")).sort()));`,
    );
    const { output } = await program("loaded.js");
    expect(JSON.parse(output)).toEqual(["canonicalize", "jose", "lru-cache", "zod"]);
  });
});
