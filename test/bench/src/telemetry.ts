import { parseArgs } from "node:util";
import pc from "picocolors";
import { hopTelemetry } from "./groups/hop-telemetry.ts";
import { progress } from "./progress.ts";
import { writeTables } from "./report/tables.ts";
import { fullPace } from "./rig/bench.ts";
import { startServer } from "./rig/node-server.ts";
import { runGroups } from "./run.ts";
import { type Amount, amounts, measureEvents, type TelemetryCost, telemetryOf } from "./telemetry-event.ts";

const usage = `pnpm bench telemetry [--rounds 15] [--seconds 2]

What telemetry costs: first one call's events by themselves, then whole guarded hops with spans exported and lines logged
against the same without either, interleaved in one run and printed side by side. Counters are always on.`;

const callsInARound = 20_480;
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
  console.log("telemetry         us in the call       us altogether");
  for (const amount of amounts) {
    const of = (figure: keyof TelemetryCost) => Math.min(...costs[amount].map((cost) => cost[figure])).toFixed(1);
    console.log(amount.padEnd(14) + of("callMicros").padStart(18) + of("wholeMicros").padStart(19));
  }
}

export async function benchTelemetry(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string", default: "15" },
      seconds: { type: "string", default: "2" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) return console.log(usage);
  const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
  const collector = await startServer("servers/telemetry-collector.ts");
  try {
    await events(collector.url, rounds);
  } finally {
    await collector.stop();
  }
  const { figures, failed } = await runGroups([hopTelemetry], { ...fullPace(), closeRounds: rounds, seconds });
  for (const why of failed.values()) throw new Error(why);
  console.log(`\n${writeTables(figures)}`);
}
