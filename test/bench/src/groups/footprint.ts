import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { freePort, startChild, testBearers, waitUntil } from "@svc/test-support";
import { request } from "undici";
import { memoryOf } from "../machine/proc.ts";
import type { Subject } from "../measure/trial.ts";
import type { Bench } from "../rig/bench.ts";

export const footprintTrial = "start";

/** Time from the start to the first 200, and memory at rest: as built, under the images' flags, and of Node alone. */
export async function footprint(bench: Bench): Promise<void> {
  const database = await bench.stores.database();
  const controlPlane = (port: number) => ({
    args: asShipped("control-plane"),
    readyUrl: `http://127.0.0.1:${port}/readyz`,
    env: {
      PORT: `${port}`,
      DATABASE_URL: database.appUrl,
      SVC_MIGRATION_DATABASE_URL: database.ownerUrl,
      REDIS_URL: bench.stores.redis.url,
      SVC_ADMIN_TOKEN: testBearers.admin,
      SVC_TELEMETRY_KEY: "telemetry-key-of-the-benchmark",
      SVC_KEY_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("base64"),
    },
  });
  const pep = (port: number, adminPort: number) => ({
    args: asShipped("pep"),
    readyUrl: `http://127.0.0.1:${port}/__svc/livez`,
    env: {
      SVC_CONTROL_PLANE_URL: "http://127.0.0.1:9",
      SVC_PEP_CONFIG: fileURLToPath(new URL("../rig/no-upstreams.json", import.meta.url)),
      SVC_PEP_LISTEN: `127.0.0.1:${port}`,
      SVC_PEP_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
      SVC_TELEMETRY_KEY: "telemetry-key-of-the-benchmark",
    },
  });
  const bare = (port: number) => ({
    args: ["--eval", bareServer],
    readyUrl: `http://127.0.0.1:${port}/`,
    env: { PORT: `${port}` },
  });
  const subjects = [
    subject("bare node", bare),
    subject("enforcement point", pep),
    subject("control plane", controlPlane),
  ];
  // The first start creates the schema.
  await subjects.at(-1)?.sample();
  await bench.trial(footprintTrial, subjects);
}

interface Started {
  readonly args: readonly string[];
  readonly readyUrl: string;
  readonly env: Readonly<Record<string, string>>;
}

const inWorkspace = (path: string) => fileURLToPath(new URL(`../../../../${path}`, import.meta.url));

/** The built program under the flags that its image gives to Node. */
function asShipped(app: "control-plane" | "pep"): readonly string[] {
  const [, stage = ""] = readFileSync(inWorkspace("deploy/images/Dockerfile"), "utf8").split(` AS ${app}\n`);
  const [, entry] = /^ENTRYPOINT \["node", (.*"dist\/main\.js")\]$/m.exec(stage) ?? [];
  if (entry === undefined) throw new Error(`deploy/images/Dockerfile has no start command of ${app}`);
  return JSON.parse(`[${entry}]`).with(-1, inWorkspace(`apps/${app}/dist/main.js`));
}

const restMs = 2_000;

/** Without stripping types, which takes half as much memory again. */
const bareServer = `require("node:http").createServer((_, response) => response.end()).listen(process.env.PORT, "127.0.0.1")`;

const subject = (name: string, start: (port: number, adminPort: number) => Started): Subject => ({
  name,
  async sample() {
    const { args, readyUrl, env } = start(await freePort(), await freePort());
    const startedMs = performance.now();
    const child = startChild(process.execPath, args, { env: { PATH: process.env.PATH, ...env } });
    try {
      await waitUntil(`${name} to be ready`, () => child.hasExited() || isReady(readyUrl), 20_000);
      if (child.hasExited()) throw new Error(`${name} exited at its start:\n${child.output()}`);
      const readyMs = performance.now() - startedMs;
      await new Promise((resolve) => setTimeout(resolve, restMs));
      return { readyMs, MiB: memoryOf(child.pid).bytes / 1024 / 1024 };
    } finally {
      child.kill("SIGKILL");
      await child.exited;
    }
  },
});

async function isReady(url: string): Promise<boolean> {
  const { statusCode, body } = await request(url, { headersTimeout: 2_000 });
  await body.dump();
  return statusCode === 200;
}
