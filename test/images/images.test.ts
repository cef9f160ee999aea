import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ContentFile, contentOf, programs } from "@svc/images";
import {
  type Child,
  createDatabase,
  freePort,
  type RedisServer,
  requires,
  startRedis,
  type TestDatabase,
  testBearers,
  waitUntil,
  writeCertificate,
} from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { how, startContained, stopContained } from "./src/container.ts";
import { buildTrees, type Trees, workspace } from "./src/trees.ts";

// Each starts several programs, and waits for one to drain.
/** The images' content trees, made by the Dockerfile's command. */
let trees: Trees;
/** Built twice; the others have the same steps, and each takes seconds. */
const servers = ["control-plane", "pep", "injector"] as const;
/** Built while the programs run. */
let again: Promise<Trees>;
const contents = new Map<string, readonly ContentFile[]>();

beforeAll(async () => {
  trees = await buildTrees(programs);
  for (const program of programs) contents.set(program, contentOf(trees.of(program)));
  again = buildTrees(servers);
});
afterAll(async () => {
  trees?.remove();
  (await again)?.remove();
});

const pathsOf = (program: string): readonly string[] => (contents.get(program) ?? []).map(({ path }) => path);

interface Bill {
  readonly components: readonly { readonly group?: string; readonly name: string; readonly version: string }[];
}
const billOf = (program: (typeof programs)[number]): Bill =>
  JSON.parse(readFileSync(join(trees.of(program), "sbom.cdx.json"), "utf8"));

/** `name@version` of every package in a tree. */
function installedIn(program: (typeof programs)[number]): readonly string[] {
  return pathsOf(program)
    .filter((path) => /(^|\/)node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(path))
    .map((path) => JSON.parse(readFileSync(join(trees.of(program), path), "utf8")))
    .map(({ name, version }) => `${name}@${version}`)
    .toSorted();
}

test.each(["control-plane", "cli"] as const)("the image of %s contains the patched database driver", (program) => {
  const driver = (folder: string): Buffer => readFileSync(join(folder, "postgres/src/connection.js"));
  const copies = pathsOf(program).filter((path) => /(^|\/)node_modules\/postgres\/src\/connection\.js$/.test(path));
  expect(copies.length).toBeGreaterThan(0);
  for (const path of copies) {
    const held = readFileSync(join(trees.of(program), path));
    expect(held.equals(driver(join(workspace, "apps/control-plane/node_modules")))).toBe(true);
  }
});

describe.each(programs)("the image of %s", (program) => {
  test("contains the built program, its health check, its dependencies with their licences, and its bill of materials", () => {
    expect(pathsOf(program)).toEqual(
      expect.arrayContaining(["dist/main.js", "healthcheck.js", "package.json", "sbom.cdx.json"]),
    );
    expect(pathsOf(program).filter((path) => /\/licen[cs]e[^/]*$/i.test(path)).length).toBeGreaterThan(0);
  });

  test("contains no source, types, source maps, tests, links, or files left by a package manager or a start", () => {
    const unwanted =
      /\.([cm]?ts|tsx|map|tsbuildinfo)$|(^|\/)node_modules\/\.|\.test\.[cm]?js$|(^|\/)pnpm-|\/__tests__\/|(^|\/)\.compile-cache\//;
    expect(pathsOf(program).filter((path) => unwanted.test(path))).toEqual([]);
    expect(pathsOf(program).filter((path) => path.startsWith("test/") || /@svc\/[^/]+\/test\//.test(path))).toEqual([]);
  });

  test("contains exactly the packages of its bill of materials, and no development dependency", () => {
    const listed = billOf(program).components.map(
      ({ group, name, version }) => `${group ? `${group}/` : ""}${name}@${version}`,
    );
    expect(installedIn(program)).toEqual(listed.toSorted());
    const development = [
      "vitest",
      "typescript",
      "fast-check",
      "@biomejs/biome",
      "knip",
      "@svc/test-support",
      "oidc-provider",
    ];
    const names = installedIn(program).map((each) => each.replace(/@[^@]+$/, ""));
    expect(names.filter((name) => development.includes(name))).toEqual([]);
  });

  test("does not contain the path of its build", () => {
    const telling = pathsOf(program).filter((path) => readFileSync(join(trees.of(program), path)).includes(workspace));
    expect(telling).toEqual([]);
  });
});

/** A program of the first trees, with its own folder for working files. */
function start(
  program: (typeof programs)[number],
  args: readonly string[],
  env: Record<string, string>,
  writable: readonly string[] = [],
) {
  const work = join(trees.work, `${program}-${contained++}`);
  mkdirSync(work);
  return startContained({ tree: trees.of(program), work, args, env, writable });
}
let contained = 0;

async function runToEnd(program: (typeof programs)[number], args: readonly string[], env: Record<string, string>) {
  const child = start(program, args, env);
  return { code: await child.exited, output: child.output() };
}

const telemetry = { SVC_TELEMETRY_KEY: "telemetry-key-of-the-tests" };

requires("redis-server", "openssl").describe(`a program runs from its image's content ${how}`, () => {
  let database: TestDatabase;
  let redis: RedisServer;
  beforeAll(async () => {
    [database, redis] = await Promise.all([createDatabase(), startRedis()]);
  });
  afterAll(async () => {
    await Promise.all([database?.drop(), redis?.stop()]);
  });

  test("control plane: a job migrates, it becomes healthy, serves the command's image, shares metrics in memory, and drains", async () => {
    const common = {
      ...telemetry,
      SVC_ADMIN_TOKEN: testBearers.admin,
      SVC_KEY_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("base64"),
    };
    const migration = { ...common, DATABASE_URL: database.appUrl, SVC_MIGRATION_DATABASE_URL: database.ownerUrl };
    expect(await runToEnd("control-plane", ["dist/main.js", "migrate"], migration)).toEqual({
      code: 0,
      output: "the schema is up to date\n",
    });

    const shared = join(trees.work, "metrics");
    const port = String(await freePort());
    const env = {
      ...common,
      HOST: "127.0.0.1",
      PORT: port,
      DATABASE_URL: database.appUrl,
      REDIS_URL: redis.url,
      SVC_MIGRATE: "never",
      SVC_WORKERS: "2",
      PROMETHEUS_MULTIPROC_DIR: shared,
    };
    const server = start("control-plane", ["dist/main.js"], env, [shared]);
    expect(await isHealthy("control-plane", env, server), server.output()).toBe(true);
    const listing = await runToEnd("cli", ["dist/main.js", "agents", "list", "--json"], {
      SVC_CONTROL_PLANE_URL: `http://127.0.0.1:${port}`,
      SVC_ADMIN_TOKEN: testBearers.admin,
    });
    expect(listing.code, listing.output).toBe(0);
    expect(await stopContained(server), server.output()).toBe(0);
    expect((await runToEnd("control-plane", ["healthcheck.js", "control-plane"], env)).code).toBe(1);
  });

  test("enforcement point: becomes healthy, writes to its state folder alone, and drains", async () => {
    const config = join(trees.work, "pep.yaml");
    writeFileSync(config, "upstreams: [{name: ledger, url: 'http://127.0.0.1:9', routes: []}]\n");
    chmodSync(config, 0o644);
    const state = join(trees.work, "state");
    const env = {
      ...telemetry,
      SVC_CONTROL_PLANE_URL: "http://127.0.0.1:9",
      SVC_PEP_CONFIG: config,
      SVC_PEP_LISTEN: `127.0.0.1:${await freePort()}`,
      SVC_PEP_ADMIN_LISTEN: `127.0.0.1:${await freePort()}`,
      SVC_PEP_STATE_DIR: state,
      SVC_PEP_GRACE_SECONDS: "5",
    };
    const pep = start("pep", ["dist/main.js"], env, [state]);
    expect(await isHealthy("pep", env, pep), pep.output()).toBe(true);
    expect(await stopContained(pep), pep.output()).toBe(0);
  });

  test("injector: becomes healthy with its certificate, and stops", async () => {
    const { certFile, keyFile } = writeCertificate(trees.work, "svc-injector");
    chmodSync(keyFile, 0o644);
    const env = {
      PORT: String(await freePort()),
      SVC_INJECTOR_TLS_CERT_FILE: certFile,
      SVC_INJECTOR_TLS_KEY_FILE: keyFile,
      SVC_INJECTOR_PEP_IMAGE: "agent-authorization-service/pep:0.1.0",
      SVC_CONTROL_PLANE_URL: "https://control-plane",
    };
    const injector = start("injector", ["dist/main.js"], env);
    expect(await isHealthy("injector", env, injector), injector.output()).toBe(true);
    expect(await stopContained(injector), injector.output()).toBe(0);
  });

  test("svc --help prints help", async () => {
    expect(await runToEnd("cli", ["dist/main.js", "--help"], {})).toMatchObject({ code: 0 });
  });

  requires("container rights").test("only the named folders are writable, and only by uid 10001", async () => {
    const folder = join(trees.work, "named");
    const program = `const { writeFileSync } = require("node:fs");
      const tries = ["/app-file", "package.json", "/tmp/file", ${JSON.stringify(join(folder, "file"))}];
      const can = (file) => { try { writeFileSync(file, ""); return true; } catch { return false; } };
      console.log(JSON.stringify([process.pid, process.getuid(), ...tries.map(can)]));`;
    const child = start("pep", ["--eval", program], {}, [folder]);
    expect(await child.exited, child.output()).toBe(0);
    expect(JSON.parse(child.stdout())).toEqual([1, 10001, false, false, false, true]);
  });
});

test.each(servers)("the image of %s is the same byte for byte when built again", async (program) => {
  expect(contentOf((await again).of(program))).toEqual(contents.get(program));
});

/** Runs the image's own health check, as a runtime does, until it passes or the program has exited. */
async function isHealthy(
  program: "control-plane" | "pep" | "injector",
  env: Record<string, string>,
  server: Child,
): Promise<boolean> {
  const isContent = async () => (await runToEnd(program, ["healthcheck.js", program], env)).code === 0;
  await waitUntil(`${program} to be healthy`, async () => server.hasExited() || (await isContent()));
  return !server.hasExited();
}
