import { admission } from "./groups/admission.ts";
import { audit } from "./groups/audit.ts";
import { byBody } from "./groups/bodies.ts";
import { bundleSize } from "./groups/bundle.ts";
import { byAgents, byChain, byConnections, byRows } from "./groups/curves.ts";
import { footprint } from "./groups/footprint.ts";
import { hopAlone } from "./groups/hop-alone.ts";
import { hopCrowd } from "./groups/hop-crowd.ts";
import { type HopRig, prepareHopRig } from "./groups/hop-rig.ts";
import { hopTelemetry } from "./groups/hop-telemetry.ts";
import { hopWide } from "./groups/hop-wide.ts";
import { byKind } from "./groups/kinds.ts";
import { proxies, startProxies } from "./groups/proxies.ts";
import { stream } from "./groups/stream.ts";
import { tokens } from "./groups/tokens.ts";
import { verdict } from "./groups/verdict.ts";
import { writer } from "./groups/writer.ts";
import { createWatch } from "./machine/idle-gate.ts";
import type { Part } from "./options.ts";
import { progress } from "./progress.ts";
import { type Bench, createBench, type Pace, type Results } from "./rig/bench.ts";
import { startServer } from "./rig/node-server.ts";
import { startStores } from "./rig/stores.ts";

/** One or more trials and their setup. */
export type Group = (bench: Bench, rig: HopRig) => Promise<void>;

const groups: Readonly<Record<Part, readonly Group[]>> = {
  hop: [hopAlone, hopCrowd, hopWide, writer, hopTelemetry],
  peers: [tokens, throughProxies, admission, verdict, footprint, bundleSize],
  curves: [byConnections, byChain, byAgents, byKind, byBody, byRows, audit],
};

export const run = (parts: readonly Part[], pace: Pace): Promise<Results> =>
  runGroups(
    parts.flatMap((part) => groups[part]),
    pace,
  );

/** In one run on the same stores. Everything that a group starts ends with it. */
export async function runGroups(asked: readonly Group[], pace: Pace, earlierCommit?: string): Promise<Results> {
  const stores = await startStores();
  const upstream = await startServer("servers/upstream.ts");
  const watch = createWatch();
  if (stores.postgresPid !== 0) watch.own(stores.postgresPid);
  const whole = createBench(pace, { stores, upstream, watch });
  try {
    const rig = await prepareHopRig(whole.bench, earlierCommit);
    for (const group of asked) await runGroup(group, rig, pace, { stores, upstream, watch }, whole.results);
  } finally {
    progress("");
    await whole.stopAll();
    await upstream.stop();
    await stores.stop();
  }
  return whole.results;
}

async function runGroup(
  group: Group,
  rig: HopRig,
  pace: Pace,
  parts: Parameters<typeof createBench>[1],
  whole: Results,
): Promise<void> {
  const { bench, results, stopAll } = createBench(pace, parts);
  try {
    await group(bench, rig);
  } catch (cause) {
    // A failed group does not end the run.
    whole.failed.set(group.name, cause instanceof Error ? cause.message : String(cause));
  } finally {
    await stopAll();
  }
  for (const [key, summary] of results.figures) whole.figures.set(key, summary);
  for (const [what, why] of results.missing) whole.missing.set(what, why);
}

async function throughProxies(bench: Bench): Promise<void> {
  const started = await startProxies(bench);
  await proxies(bench, started);
  await stream(bench, started);
}
