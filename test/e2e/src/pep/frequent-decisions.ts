import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTelemetry } from "@svc/telemetry";
import type { Stand } from "@svc/test-conformance/stand";
import { startPep } from "../../../../apps/pep/src/pep.ts";
// By their paths: an app exports its program alone, and the interval between decisions is no setting.
import { readConfig } from "../../../../apps/pep/src/start/config.ts";
import { routes } from "./guarded.ts";

export interface Hurried {
  readonly url: string;
  /** The value of one series. */
  metric(series: string): Promise<number>;
  stop(): Promise<void>;
}

/** An enforcement point in this process, for a stand's control plane and upstream, that decides again often. */
export async function startHurried(
  stand: Pick<Stand, "api"> & { readonly upstream: { readonly url: string } },
  options: {
    readonly redecideMs: number;
    readonly otel: Readonly<Record<string, string>>;
    /** Default: the stand's guarded application. */
    readonly upstreams?: readonly object[];
    readonly settings?: Readonly<Record<string, string>>;
  },
): Promise<Hurried> {
  const folder = mkdtempSync(join(tmpdir(), "svc-hurried-"));
  const configFile = join(folder, "pep.json");
  const { redecideMs, otel, upstreams = [{ name: "app", url: stand.upstream.url, routes }] } = options;
  writeFileSync(configFile, JSON.stringify({ upstreams }));
  const read = readConfig({
    SVC_CONTROL_PLANE_URL: stand.api.url,
    SVC_PEP_CONFIG: configFile,
    SVC_PEP_LISTEN: "127.0.0.1:0",
    SVC_PEP_ADMIN_LISTEN: "127.0.0.1:0",
    SVC_TELEMETRY_KEY: "telemetry-key-of-the-tests",
    ...options.settings,
  });
  if (!read.ok) throw new Error(read.faults.join("\n"));
  const { config } = read;
  const telemetry = createTelemetry({
    app: "pep",
    version: "0.0.0-test",
    config: { ...config.telemetry, otel },
    io: { logDestination: { write: () => {} }, writeNotice: () => {} },
  });
  const pep = await startPep({ ...config, limits: { ...config.limits, redecideMs } }, { telemetry, log: () => {} });
  return {
    url: `http://127.0.0.1:${pep.port}`,
    async metric(series) {
      const text = await (await fetch(`http://127.0.0.1:${pep.adminPort}/__svc/metrics`)).text();
      const line = text.split("\n").find((each) => each.startsWith(`${series} `));
      return Number(line?.slice(series.length + 1) ?? Number.NaN);
    },
    async stop() {
      await pep.stop({ isUrgent: true });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
