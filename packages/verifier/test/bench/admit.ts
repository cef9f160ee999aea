import { createVerifier } from "../../src/index.ts";
import { callHeaders, dataClass, issuer, jwks, params, target } from "../support/tokens.ts";

/**
 * What one `admit` costs, in microseconds of this process's CPU, which a busy machine hardly changes: medians of
 * interleaved samples, each over tokens that were made beforehand, since a signature that was verified is remembered.
 */
const samples = 9;
const tokens = 500;

type Headers = Awaited<ReturnType<typeof callHeaders>>;
const make = (privileged: boolean): Promise<Headers[]> =>
  Promise.all(Array.from({ length: tokens }, () => callHeaders({ privileged })));

const verifierOf = () => createVerifier({ issuer, audience: target, jwks, identityView: "off" });

async function microseconds(headers: readonly Headers[], verifier = verifierOf()): Promise<number> {
  await verifier.ready();
  const started = process.cpuUsage();
  for (const each of headers) await verifier.admit({ headers: each, dataClass, params });
  const { user, system } = process.cpuUsage(started);
  return (user + system) / headers.length;
}

const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

const measured = {
  "a token never seen": [] as number[],
  "a token seen before": [] as number[],
  "a privileged call": [] as number[],
};
await microseconds(await make(true));
for (let sample = 0; sample < samples; sample++) {
  const verifier = verifierOf();
  const plain = await make(false);
  measured["a token never seen"].push(await microseconds(plain, verifier));
  measured["a token seen before"].push(await microseconds(plain, verifier));
  measured["a privileged call"].push(await microseconds(await make(true)));
}
for (const [what, values] of Object.entries(measured)) {
  console.log(`${what.padEnd(20)} ${median(values).toFixed(0).padStart(5)} us`);
}
