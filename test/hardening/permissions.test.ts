import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openStand, type Stand, type StandOptions } from "@svc/test-conformance/stand";
import {
  freePort,
  type RedisServer,
  requires,
  spawnApp,
  startRedis,
  testBearers,
  waitUntil,
  writeCertificate,
} from "@svc/test-support";
import { Agent, request } from "undici";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { confined } from "./src/confinement.ts";

/** Folder of all code, as `/app` of an image. */
const code = fileURLToPath(new URL("../../", import.meta.url));

let folder: string;
beforeAll(() => {
  folder = `${mkdtempSync(join(tmpdir(), "svc-confined-"))}/`;
  for (const name of ["state", "metrics"]) mkdirSync(join(folder, name));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("a permission that is not granted is refused", () => {
  const attempts = {
    "code from text": "new Function('return 1')()",
    "a file outside": `require("node:fs").readFileSync("/etc/hostname")`,
    "writing a file": `require("node:fs").writeFileSync(${JSON.stringify(join(tmpdir(), `svc-written-${process.pid}`))}, "")`,
    "a child process": `require("node:child_process").execFileSync("true")`,
    "a worker thread": `new (require("node:worker_threads").Worker)("", { eval: true })`,
    "an inspector": `require("node:inspector").open(0)`,
  };
  test.each(Object.entries(attempts))("%s", (_what, attempt) => {
    const program = `try { ${attempt}; console.log("done"); } catch (error) { console.log(error.code ?? error.name); }`;
    const run = (options: string) =>
      execFileSync(process.execPath, ["--eval", program], { env: { NODE_OPTIONS: options }, encoding: "utf8" }).trim();
    expect(run(confined({ reads: [code] }))).toMatch(/^(?:ERR_ACCESS_DENIED|EvalError)$/);
    expect(run("")).toBe("done");
  });
});

requires("redis-server").describe("confined to its code, its settings' files and the network", () => {
  let redis: RedisServer;
  let stand: Stand | undefined;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.stop());
  afterEach(() => stand?.stop());

  // The stand's folder of the upstreams file has a random name.
  const configuration = join(tmpdir(), "svc-*");
  const state = () => join(folder, "state/");
  const metrics = () => join(folder, "metrics/");

  const open = (settings: Pick<StandOptions, "controlPlane" | "enforcementPoint">): Promise<Stand> =>
    openStand({
      scopes: { docs: { hop_budget: 2, tools: [{ ref: "http:app/post", data_classes: ["docs"], privileged: true }] } },
      upstreams: (url) => [
        { name: "app", url, routes: [{ methods: ["POST"], path: "/*", target: "http:app/post", data_class: "docs" }] },
      ],
      ...settings,
    });

  async function guardedCall({ api, enforcementPoint }: Stand) {
    const { session, token } = await api.consent("docs");
    const headers = { authorization: `Bearer ${token}`, "x-svc-session": session, "content-type": "application/json" };
    const answer = await fetch(`${enforcementPoint.url}/app/x`, { method: "POST", headers, body: '{"amount":1}' });
    return { status: answer.status, blocked: answer.headers.get("x-svc-blocked"), text: await answer.text() };
  }

  test.each([
    ["one control plane", () => ({ NODE_OPTIONS: confined({ reads: [code] }) })],
    [
      "a control plane of two workers, which share metrics",
      () => ({
        SVC_WORKERS: "2",
        PROMETHEUS_MULTIPROC_DIR: metrics(),
        REDIS_URL: redis.url,
        NODE_OPTIONS: confined({ reads: [code, metrics()], writes: [metrics()], children: true }),
      }),
    ],
  ])("%s and an enforcement point decide, exchange, mint and forward a call", async (_name, controlPlane) => {
    const enforcementPoint = { NODE_OPTIONS: confined({ reads: [code, configuration] }) };
    stand = await open({ controlPlane: controlPlane(), enforcementPoint });
    expect(await guardedCall(stand)).toEqual({ status: 200, blocked: null, text: "done" });
    const [received] = stand.upstream.requests;
    expect(received?.rawHeaders.map((name) => name.toLowerCase())).toContain("txn-token");
  });

  test("with a state folder nothing goes upstream: Node refuses fsync, and no renewed token is used before it is stored", async () => {
    const confinement = confined({ reads: [code, configuration, state()], writes: [state()] });
    stand = await open({ enforcementPoint: { SVC_PEP_STATE_DIR: state(), NODE_OPTIONS: confinement } });
    expect(await guardedCall(stand)).toMatchObject({ status: 500, blocked: "other" });
    expect(stand.upstream.requests).toEqual([]);
  });

  test("the svc command calls a control plane", async () => {
    stand = await open({});
    const child = spawnApp({
      main: "@svc/cli/main",
      args: ["agents", "list", "--json"],
      env: {
        SVC_CONTROL_PLANE_URL: stand.api.url,
        SVC_ADMIN_TOKEN: testBearers.admin,
        NODE_OPTIONS: confined({ reads: [code] }),
      },
    });
    expect(await child.exited, child.output()).toBe(0);
    expect(child.stdout()).toContain("courier");
  });
});

requires("openssl").describe("an injector confined to its code and its certificate", () => {
  beforeEach(() => void writeCertificate(folder, "svc-injector"));

  test("serves, and reloads its certificate", async () => {
    const port = await freePort();
    const child = spawnApp({
      main: "@svc/injector/main",
      env: {
        HOST: "127.0.0.1",
        PORT: String(port),
        SVC_INJECTOR_TLS_CERT_FILE: join(folder, "tls.crt"),
        SVC_INJECTOR_TLS_KEY_FILE: join(folder, "tls.key"),
        SVC_INJECTOR_PEP_IMAGE: "agent-authorization-service/pep:0.1.0",
        SVC_CONTROL_PLANE_URL: "https://control-plane",
        NODE_OPTIONS: confined({ reads: [code, folder] }),
      },
    });
    try {
      const isReadyUnder = async (certificate: Buffer): Promise<boolean> => {
        const dispatcher = new Agent({ connect: { ca: certificate, servername: "localhost" } });
        try {
          const { statusCode, body } = await request(`https://127.0.0.1:${port}/readyz`, { dispatcher });
          await body.dump();
          return statusCode === 200;
        } catch {
          return false;
        } finally {
          await dispatcher.close();
        }
      };
      const certificate = () => readFileSync(join(folder, "tls.crt"));
      await waitUntil("the injector to be ready", () => child.hasExited() || isReadyUnder(certificate()));
      expect(child.hasExited(), child.output()).toBe(false);
      writeCertificate(folder, "svc-injector-next");
      await waitUntil("the new certificate to be served", () => isReadyUnder(certificate()));
    } finally {
      await child.stop();
    }
  });
});
