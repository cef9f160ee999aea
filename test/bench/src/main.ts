import { parseArgs } from "node:util";
import pc from "picocolors";
import { startServer } from "./child.ts";
import { startGuarded } from "./guarded.ts";
import { median, type Sample, sample, type Target } from "./load.ts";
import { progress } from "./progress.ts";
import { benchTelemetry } from "./telemetry.ts";

const usage = `pnpm bench [--rounds 5] [--seconds 2]
pnpm bench telemetry --help

The same upstream called directly, through a bare undici pass-through proxy and through the enforcement point (decide,
commit a record, spend, exchange, forward), interleaved in one run and printed as ratios.`;

const variants = ["direct", "pass-through", "guarded"] as const;
type Variant = (typeof variants)[number];
const connectionCounts = [1, 32];
const warmUpSeconds = 1;

type Samples = Record<Variant, Sample[]>;

/** A, B, C, A, B, C...: whatever drifts on the machine drifts for all of them. */
async function measure(targets: Record<Variant, Target>, connections: number, rounds: number, seconds: number) {
  const samples: Samples = { direct: [], "pass-through": [], guarded: [] };
  for (const variant of variants) await sample(targets[variant], connections, warmUpSeconds);
  for (let round = 1; round <= rounds; round++) {
    for (const variant of variants) {
      progress(`${connections} connection(s), round ${round} of ${rounds}: ${variant}`);
      samples[variant].push(await sample(targets[variant], connections, seconds));
    }
  }
  progress("");
  return samples;
}

function report(connections: number, samples: Samples): void {
  const of = (variant: Variant, figure: keyof Sample) => median(samples[variant].map((one) => one[figure]));
  console.log(pc.bold(`\n${connections} connection(s), medians of ${samples.direct.length} interleaved samples`));
  console.log(
    "variant        requests/s    p50 ms    p99 ms   p50 / direct   p50 / pass-through   rate / pass-through",
  );
  for (const variant of variants) {
    const ratio = (figure: keyof Sample, to: Variant) => (of(variant, figure) / of(to, figure)).toFixed(2);
    console.log(
      variant.padEnd(13) +
        of(variant, "requestsPerSecond").toFixed(0).padStart(12) +
        of(variant, "p50Ms").toFixed(2).padStart(10) +
        of(variant, "p99Ms").toFixed(2).padStart(10) +
        ratio("p50Ms", "direct").padStart(15) +
        ratio("p50Ms", "pass-through").padStart(21) +
        ratio("requestsPerSecond", "pass-through").padStart(22),
    );
  }
}

if (process.argv[2] === "telemetry") {
  await benchTelemetry(process.argv.slice(3));
  process.exit();
}

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "2" },
    help: { type: "boolean", short: "h" },
  },
});
if (values.help) {
  console.log(usage);
  process.exit(0);
}

const upstream = await startServer("upstream.ts");
const passThrough = await startServer("pass-through.ts", [upstream.url]);
const guarded = await startGuarded(upstream.url);
try {
  const targets = {
    direct: { url: `${upstream.url}/read`, headers: {} },
    "pass-through": { url: `${passThrough.url}/read`, headers: {} },
    guarded,
  };
  for (const connections of connectionCounts) {
    report(connections, await measure(targets, connections, Number(values.rounds), Number(values.seconds)));
  }
} finally {
  await guarded.stop();
  passThrough.stop();
  upstream.stop();
}
