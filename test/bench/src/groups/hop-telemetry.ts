import { loaded } from "../measure/loaded.ts";
import type { Bench } from "../rig/bench.ts";
import { startServer } from "../rig/node-server.ts";
import { throughSkeleton } from "../rig/skeleton.ts";
import { type HopRig, startWarm } from "./hop-rig.ts";
import { hopsOf } from "./hop-targets.ts";

export const toldTrial = "telemetry";
const connections = 32;

/** Default telemetry with a collector, and the least that can be configured. Counters are always on. */
export const telemetrySettings = (collector: string) => ({
  on: { OTEL_EXPORTER_OTLP_ENDPOINT: collector, SVC_LOG_LEVEL: "info" },
  off: { OTEL_SDK_DISABLED: "true", SVC_LOG_LEVEL: "error" },
});

/** Whole hops with exported spans and log lines, against the same without either. */
export async function hopTelemetry(bench: Bench, { skeleton }: HopRig): Promise<void> {
  const collector = bench.use(await startServer("servers/telemetry-collector.ts"));
  const subjects = [];
  for (const [name, env] of Object.entries(telemetrySettings(collector.url))) {
    subjects.push(await hopsOf(bench, name, await startWarm(bench, 1, env), connections));
  }
  const { seconds } = bench.pace;
  const { processes } = skeleton;
  const target = () => throughSkeleton(skeleton);
  subjects.push(loaded({ name: "skeleton", connections, seconds, processes, target }));
  await bench.trial(toldTrial, subjects, bench.pace.closeRounds);
}
