import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Api, createApi } from "@svc/test-conformance/api";
import { type IdentityProvider, startIdentityProvider } from "@svc/test-conformance/identity-provider";
import { type SpanReceiver, startSpanReceiver } from "@svc/test-conformance/span-receiver";
import {
  type ControlPlane,
  createMigratedDatabase,
  type EnforcementPoint,
  type FaultProxy,
  startControlPlane,
  startEnforcementPoint,
  startFaultProxy,
  startOwnRedis,
  type TestDatabase,
  testBearers,
} from "@svc/test-support";
import { ask } from "./ask.ts";
import { readScrape, type Scrape } from "./exposition.ts";
import { type LogLine, readLog } from "./log-lines.ts";
import { startTool, type Tool } from "./tool.ts";

/** The whole service from outside: every process, and its telemetry. */
export interface Surface {
  readonly database: TestDatabase;
  readonly api: Api;
  /** Of a second control plane of the same issuer, which requires a proof with every hop. */
  readonly strict: Api;
  readonly provider: IdentityProvider;
  readonly tool: Tool;
  readonly enforcing: EnforcementPoint;
  /** Forwards denied and undecided calls. */
  readonly observing: EnforcementPoint;
  /** Between the enforcement points and the control plane. */
  readonly hopLine: FaultProxy;
  /** Between the control plane and its database. */
  readonly databaseLine: FaultProxy;
  readonly receiver: SpanReceiver;
  /** The state folder of the enforcing one. */
  readonly stateDir: string;
  scrapes(): Promise<Readonly<Record<ProcessName, Scrape>>>;
  /** Ends every process gracefully, so that all telemetry is sent. */
  finish(): Promise<void>;
  /** Each process's standard output. */
  logs(): Readonly<Record<ProcessName, readonly LogLine[]>>;
  stop(): Promise<void>;
}

export const processNames = ["control plane", "strict control plane", "enforcing", "observing"] as const;
export type ProcessName = (typeof processNames)[number];
export const emitterOf = (name: ProcessName) => (name.endsWith("control plane") ? "control_plane" : "pep");

/** The smallest allowed cap that differs from no cap: a body over it cannot be bound. */
export const bindCapBytes = 4_096;

/** The upstreams of both enforcement points. Privileged, untrusted and undeclared is the policy's matter. */
export const upstreams = (tool: Tool) => [
  {
    name: "canary-app",
    url: tool.url,
    hosts: ["canary-app.internal"],
    routes: [
      { methods: ["GET"], path: "/read/:id", target: "http:canary-app/read", data_class: "docs" },
      { methods: ["POST"], path: "/write", target: "http:canary-app/write", data_class: "docs" },
      { methods: ["GET"], path: "/nowhere", target: "http:canary-app/nowhere", data_class: "docs" },
      { methods: ["GET"], path: "/socket", target: "http:canary-app/socket", data_class: "docs" },
      { methods: ["GET", "POST", "PUT", "DELETE"], path: "/any/*", target: "http:canary-app/any", data_class: "docs" },
      { connect: true, target: "http:canary-app/tunnel", data_class: "docs" },
    ],
  },
  { name: "canary-files", url: `${tool.url}/mcp`, protocol: "mcp", data_class: "docs" },
];

export interface SurfaceOptions {
  /** Settings of every process. */
  readonly env?: Readonly<Record<string, string>>;
}

export async function openSurface({ env = {} }: SurfaceOptions = {}): Promise<Surface> {
  const folder = mkdtempSync(join(tmpdir(), "svc-telemetry-"));
  const [database, redis, provider, tool, receiver] = await Promise.all([
    createMigratedDatabase(),
    startOwnRedis(),
    startIdentityProvider(),
    startTool(),
    startSpanReceiver(),
  ]);
  const databaseLine = await startFaultProxy(Number(new URL(database.appUrl).port));
  const shared = { ...receiver.env, SVC_LOG_LEVEL: "debug", ...env };
  const authority = {
    ...shared,
    SVC_ISSUER: "https://issuer.test",
    SVC_IDP_ISSUER: provider.issuer,
    SVC_IDP_AUDIENCE: provider.audience,
  };
  const appUrl = Object.assign(new URL(database.appUrl), { port: String(databaseLine.port) }).href;
  const controlPlane = await startControlPlane({ database: { ...database, appUrl }, redis }, authority);
  const strict = await startControlPlane({ database, redis }, { ...authority, SVC_IDENTITY_REQUIRED: "true" });
  const hopLine = await startFaultProxy(Number(new URL(controlPlane.url).port));

  const configFile = join(folder, "pep.json");
  writeFileSync(configFile, JSON.stringify({ upstreams: upstreams(tool) }));
  const stateDir = join(folder, "state");
  const startPep = (more: Record<string, string>) =>
    startEnforcementPoint(`http://127.0.0.1:${hopLine.port}`, configFile, {
      ...shared,
      SVC_PEP_GRACE_SECONDS: "0",
      SVC_PEP_BIND_CAP_BYTES: String(bindCapBytes),
      ...more,
    });
  const enforcing = await startPep({ SVC_PEP_STATE_DIR: stateDir });
  const observing = await startPep({ SVC_PEP_MODE: "observe", SVC_PEP_OBSERVE_UNDECIDED: "forward" });

  const controlPlanes = { "control plane": controlPlane, "strict control plane": strict };
  const processes = { ...controlPlanes, enforcing, observing };
  const each = async <T>(what: (name: ProcessName) => Promise<T> | T) =>
    Object.fromEntries(await Promise.all(processNames.map(async (name) => [name, await what(name)] as const))) as {
      [N in ProcessName]: T;
    };
  const scrape = async (name: ProcessName): Promise<Scrape> => {
    const process = processes[name];
    const { text } = await ("adminUrl" in process
      ? ask(process.adminUrl, "/__svc/metrics")
      : ask(process.url, "/metrics"));
    return readScrape(text);
  };
  const end = (process: ControlPlane | EnforcementPoint) =>
    "shutDown" in process ? process.shutDown() : process.stop();

  return {
    database,
    api: createApi(controlPlane.url, testBearers),
    strict: createApi(strict.url, testBearers),
    provider,
    tool,
    enforcing,
    observing,
    hopLine,
    databaseLine,
    receiver,
    stateDir,
    scrapes: () => each(scrape),
    finish: async () => void (await Promise.all(Object.values(processes).map(end))),
    logs: () =>
      Object.fromEntries(processNames.map((name) => [name, readLog(processes[name].stdout())])) as Record<
        ProcessName,
        readonly LogLine[]
      >,
    async stop() {
      for (const process of Object.values(processes)) process.kill("SIGKILL");
      await Promise.all([hopLine.stop(), databaseLine.stop(), tool.stop(), provider.stop(), receiver.stop()]);
      await redis.stop();
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
