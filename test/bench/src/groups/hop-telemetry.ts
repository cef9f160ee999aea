import { loaded } from "../measure/loaded.ts";
import { registerLine } from "../rig/agents.ts";
import type { Bench } from "../rig/bench.ts";
import { liveAgents } from "../rig/live-agents.ts";
import { startServer } from "../rig/node-server.ts";
import { startStack } from "../rig/stack.ts";
import { warmUp } from "./hop-rig.ts";
import { processesOf, throughPep } from "./hop-targets.ts";

export const toldTrial = "telemetry";
const connections = 32;

/** Default telemetry with a collector, and the least that can be configured. Counters are always on. */
export const telemetrySettings = (collector: string) => ({
  on: { OTEL_EXPORTER_OTLP_ENDPOINT: collector, SVC_LOG_LEVEL: "info" },
  off: { OTEL_SDK_DISABLED: "true", SVC_LOG_LEVEL: "error" },
});

/** Whole hops with exported spans and log lines, against the same without either. */
export async function hopTelemetry(bench: Bench): Promise<void> {
  const collector = bench.use(await startServer("servers/telemetry-collector.ts"));
  const subjects = [];
  for (const [name, env] of Object.entries(telemetrySettings(collector.url))) {
    const stack = bench.use(await startStack({ stores: bench.stores, upstream: bench.upstream.url, env }));
    const line = await registerLine(stack.controlPlane.url, "bench", 1);
    const agents = await liveAgents(stack, line, 1, connections);
    await warmUp(bench, await throughPep(stack, agents));
    const { seconds } = bench.pace;
    const processes = processesOf(stack, bench.stores);
    subjects.push(loaded({ name, connections, seconds, processes, target: () => throughPep(stack, agents) }));
  }
  await bench.trial(toldTrial, subjects, bench.pace.closeRounds);
}
