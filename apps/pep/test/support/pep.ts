import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTelemetry } from "@svc/telemetry";
import { patience } from "@svc/test-support";
import { onTestFinished } from "vitest";
import type { Limits } from "../../src/limits.ts";
import { type Pep, startPep } from "../../src/pep.ts";
import { type Config, readConfig } from "../../src/start/config.ts";
import { type ControlPlaneDouble, controlPlaneDouble } from "./control-plane.ts";

export interface RunningPep {
  readonly pep: Pep;
  readonly url: string;
  readonly port: number;
  readonly adminUrl: string;
  readonly configFile: string;
  readonly folder: string;
  readonly controlPlane: ControlPlaneDouble;
  /** A fresh session's headers, as an agent sends them with a JSON body. */
  readonly session: () => Promise<{ authorization: string; "x-svc-session": string; "content-type": string }>;
  /** Log lines, parsed. */
  readonly logs: Record<string, unknown>[];
  /** Lines for the operator. */
  readonly reported: string[];
  readonly metrics: () => Promise<string>;
  /** The value of one series. */
  readonly metric: (series: string) => Promise<number>;
}

export interface PepSetup {
  readonly upstreams: unknown[];
  readonly settings?: Record<string, string> | ((folder: string) => Record<string, string>);
  readonly limits?: Partial<Limits>;
  readonly prepare?: (folder: string, controlPlane: ControlPlaneDouble) => Promise<void> | void;
  /** Starts in the folder and before the control plane of another. */
  readonly after?: RunningPep;
}

/** An enforcement point on free loopback ports before a double of the control plane; ends with the test. */
export async function startedPep({
  upstreams,
  settings = {},
  limits = {},
  prepare,
  after,
}: PepSetup): Promise<RunningPep> {
  const controlPlane = after?.controlPlane ?? (await controlPlaneDouble());
  const folder = after?.folder ?? mkdtempSync(join(tmpdir(), "pep-"));
  const configFile = join(folder, "pep.json");
  writeFileSync(configFile, JSON.stringify({ upstreams }));
  await prepare?.(folder, controlPlane);
  const config = configFrom({
    SVC_CONTROL_PLANE_URL: controlPlane.url,
    SVC_PEP_CONFIG: configFile,
    SVC_PEP_LISTEN: "127.0.0.1:0",
    SVC_PEP_ADMIN_LISTEN: "127.0.0.1:0",
    SVC_TELEMETRY_KEY: "key-of-this-test",
    ...(typeof settings === "function" ? settings(folder) : settings),
  });
  const logs: Record<string, unknown>[] = [];
  const reported: string[] = [];
  const telemetry = createTelemetry({
    app: "pep",
    version: "0.0.0-test",
    config: { ...config.telemetry, logLevel: "debug", otel: {} },
    io: {
      logDestination: { write: (line) => logs.push(JSON.parse(line)) },
      writeNotice: (line) => reported.push(line),
    },
  });
  const pep = await startPep(
    { ...config, limits: { ...config.limits, ...patience.enforcementPoint, ...limits } },
    { telemetry, log: (line) => reported.push(line) },
  );
  onTestFinished(async () => {
    await pep.stop({ isUrgent: true });
    if (after) return;
    await controlPlane.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const adminUrl = `http://127.0.0.1:${pep.adminPort}`;
  const metrics = async () => (await fetch(`${adminUrl}/__svc/metrics`)).text();
  return {
    pep,
    url: `http://127.0.0.1:${pep.port}`,
    port: pep.port,
    adminUrl,
    configFile,
    folder,
    controlPlane,
    async session() {
      const { sessionId, token } = await controlPlane.consent();
      return { authorization: `Bearer ${token}`, "x-svc-session": sessionId, "content-type": "application/json" };
    },
    logs,
    reported,
    metrics,
    metric: async (series) => seriesIn(await metrics(), series),
  };
}

export function configFrom(settings: Record<string, string>): Config {
  const read = readConfig(settings);
  if (!read.ok) throw new Error(read.faults.join("\n"));
  return read.config;
}

export const seriesIn = (text: string, series: string): number =>
  Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`${series} `))
      ?.slice(series.length + 1) ?? Number.NaN,
  );
