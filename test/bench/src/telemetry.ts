import { parseArgs } from "node:util";
import pc from "picocolors";
import { type Helper, startServer } from "./child.ts";
import { type Guarded, startGuarded } from "./guarded.ts";
import { median, type Sample, sample } from "./load.ts";
import { progress } from "./progress.ts";
import { type Amount, amounts, measureEvents, type TelemetryCost, telemetryOf } from "./telemetry-event.ts";

const usage = `pnpm bench telemetry [--rounds 5] [--seconds 2]

What telemetry costs: first one call's events by themselves, then whole guarded hops with spans exported and lines logged
against the same without either, interleaved in one run and printed as ratios. Counters are always on.`;

const callsInARound = 20_480;
const connectionCounts = [1, 8];
const warmUpSeconds = 1;

type Stacks = Readonly<Record<"on" | "off", Guarded>>;

/** What is on by default, with a collector to send to; and as little as can be asked for. */
const settings = (collector: string) => ({
  on: { OTEL_EXPORTER_OTLP_ENDPOINT: collector, SVC_LOG_LEVEL: "info" },
  off: { OTEL_SDK_DISABLED: "true", SVC_LOG_LEVEL: "error" },
});

async function events(collector: string, rounds: number): Promise<void> {
  const costs: Record<Amount, TelemetryCost[]> = { counters: [], "and log line": [], "and span": [] };
  const telemetry = amounts.map((amount) => [amount, telemetryOf(amount, collector)] as const);
  for (const [, one] of telemetry) await measureEvents(one, callsInARound);
  for (let round = 1; round <= rounds; round++) {
    for (const [amount, one] of telemetry) {
      progress(`events, round ${round} of ${rounds}: ${amount}`);
      costs[amount].push(await measureEvents(one, callsInARound));
    }
  }
  progress("");
  for (const [, one] of telemetry) await one.shutdown();
  console.log(
    pc.bold(`\nOne call's events, the least disturbed of ${rounds} interleaved rounds of ${callsInARound} calls`),
  );
  console.log("told              us in the call       us altogether");
  for (const amount of amounts) {
    const of = (figure: keyof TelemetryCost) => Math.min(...costs[amount].map((cost) => cost[figure])).toFixed(1);
    console.log(amount.padEnd(14) + of("callMicros").padStart(18) + of("wholeMicros").padStart(19));
  }
}

async function hops(stacks: Stacks, connections: number, rounds: number, seconds: number): Promise<void> {
  const samples: Record<keyof Stacks, Sample[]> = { on: [], off: [] };
  const variants = ["off", "on"] as const;
  for (const variant of variants) await sample(stacks[variant], connections, warmUpSeconds);
  for (let round = 1; round <= rounds; round++) {
    // The order turns with every round: the second of a pair finds a warmer machine.
    for (const variant of round % 2 === 0 ? variants : variants.toReversed()) {
      progress(`${connections} connection(s), round ${round} of ${rounds}: ${variant}`);
      samples[variant].push(await sample(stacks[variant], connections, seconds));
    }
  }
  progress("");
  const ratios = (figure: keyof Sample) =>
    samples.on.map((one, round) => one[figure] / (samples.off[round]?.[figure] ?? Number.NaN));
  const shown = (figure: keyof Sample) => median(ratios(figure)).toFixed(2);
  console.log(
    `${String(connections).padEnd(14)}${shown("requestsPerSecond").padStart(18)}${shown("p50Ms").padStart(19)}${shown("p99Ms").padStart(19)}`,
  );
}

export async function benchTelemetry(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "2" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) return console.log(usage);
  const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
  const helpers: Helper[] = [];
  const started: Guarded[] = [];
  try {
    const collector = await startServer("telemetry-collector.ts");
    const upstream = await startServer("upstream.ts");
    helpers.push(collector, upstream);
    await events(collector.url, rounds);
    const { on, off } = settings(collector.url);
    const stacks = { on: await startGuarded(upstream.url, on), off: await startGuarded(upstream.url, off) };
    started.push(stacks.on, stacks.off);
    console.log(pc.bold(`\nGuarded hops, telemetry on / off, medians of ${rounds} interleaved pairs`));
    console.log("connections         requests/s             p50 ms             p99 ms");
    for (const connections of connectionCounts) await hops(stacks, connections, rounds, seconds);
  } finally {
    for (const stack of started) await stack.stop();
    for (const helper of helpers) helper.stop();
  }
}
