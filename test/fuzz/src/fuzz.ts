import fc from "fast-check";
import { type Heard, say } from "./agent.ts";
import { faultsOf, narrowedToken } from "./judge.ts";
import type { Arrival } from "./observed.ts";
import { responseFault } from "./response.ts";
import { caseName, caseOf, createRounds, type Rounds } from "./rounds.ts";
import type { FuzzStand } from "./stand.ts";
import type { Case, Target } from "./target.ts";

export interface Finding {
  readonly target: string;
  /** The seed whose first round holds it. */
  readonly seed: number;
  readonly faults: readonly string[];
  /** What was sent, and what an upstream answered. */
  readonly sent?: string;
  readonly answer?: string;
  readonly heard?: string;
}

export interface Progress {
  readonly target: string;
  readonly cases: number;
  /** Requests that an upstream received. */
  readonly arrivals: number;
}

export interface FuzzOptions {
  readonly targets: readonly Target[];
  readonly seed: number;
  /** Whether to begin another round; asked with what was done so far. */
  readonly goesOn: (progress: Progress) => boolean;
  readonly onProgress?: (progress: Progress) => void;
}

/** Few enough that a seed leads back to a case soon. */
const casesPerRound = 256;
const atOnce = 24;

/** A whole request is answered, late on a busy machine; what is none may be waited for in vain. */
const wholeQuietMs = 60_000;
const brokenQuietMs = 300;

/** Rounds of every target in turn, each from a seed of its own, until time is up or something does not hold. */
export async function fuzz(
  stand: FuzzStand,
  { targets, seed, goesOn, onProgress }: FuzzOptions,
): Promise<Finding | Progress> {
  const done = { target: "", cases: 0, arrivals: 0 };
  const sofar = { rounds: createRounds(), actions: new Set<string>() };
  for (let round = 0; ; round++) {
    for (const target of targets) {
      if (!goesOn(done)) return done;
      const result = await runRound(stand, target, seed + round, sofar);
      if ("faults" in result) return result;
      done.target = target.name;
      done.cases += casesPerRound;
      done.arrivals += result.arrivals;
      onProgress?.(done);
    }
  }
}

interface Spoken {
  readonly name: string;
  readonly told: Case;
  readonly heard: Heard;
}

interface SoFar {
  readonly rounds: Rounds;
  /** Those that went upstream. */
  readonly actions: Set<string>;
}

/** A session of its own for each round, so that the record of it can be read whole. */
async function runRound(
  stand: FuzzStand,
  target: Target,
  seed: number,
  { rounds, actions }: SoFar,
): Promise<Finding | { arrivals: number }> {
  const { session, token } = await stand.consent();
  const round = rounds.begin(session);
  const cases = fc.sample(target.cases, { seed, numRuns: casesPerRound });
  const spoken = await speakAll(stand, cases, { session, token, round });
  const arrivals = stand.take();
  const finding = (faults: readonly string[], of?: Spoken): Finding => ({
    target: target.name,
    seed,
    faults,
    ...(of && { sent: of.told.send, heard: of.heard.text.slice(0, 4_000) }),
    ...(of?.told.answer !== undefined && { answer: of.told.answer }),
  });
  for (const each of spoken) {
    const own = arrivals.filter((arrival) => caseOf(arrival) === each.name);
    const faults = [...caseFaults(each, own), ...own.flatMap((arrival) => faultsOf(arrival, session))];
    if (faults.length > 0) return finding(faults, each);
  }
  // What lost its name on the way is held to the rest.
  const bySession = Map.groupBy(arrivals, (arrival) => rounds.sessionOf(arrival));
  const ofRecord = [...bySession].map(async ([session, arrivals]) => [
    ...arrivals.flatMap((arrival) => faultsOf(arrival, session).map((fault) => `${fault}: ${JSON.stringify(arrival)}`)),
    ...recordFaults(arrivals, await stand.spentActions(session), actions),
  ]);
  const faults = [...(await Promise.all(ofRecord)).flat(), ...(await stand.faults())];
  return faults.length > 0 ? finding(faults) : { arrivals: arrivals.length };
}

async function speakAll(
  stand: FuzzStand,
  cases: readonly Case[],
  { session, token, round }: { session: string; token: string; round: number },
): Promise<Spoken[]> {
  const spoken: Spoken[] = [];
  const waiting = cases.map((told, at) => ({ told, name: caseName(round, at) })).toReversed();
  const own = `127.0.0.1:${stand.port}`;
  const speak = async () => {
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const { told, name } = next;
      if (told.answer !== undefined) stand.answers.set(name, told.answer);
      const bytes = told.send
        .replaceAll("{bearer}", token)
        .replaceAll("{session}", session)
        .replaceAll("{own}", own)
        .replaceAll("{case}", name);
      spoken.push({ name, told, heard: await say(stand.port, bytes, told.check ? wholeQuietMs : brokenQuietMs) });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, speak));
  stand.answers.clear();
  return spoken;
}

function caseFaults({ told, heard }: Spoken, arrivals: readonly Arrival[]): string[] {
  const garbled = told.check === undefined ? undefined : responseFault(heard.text, told.isHead ?? false);
  return [
    ...(heard.isHung ? ["the connection was never let go of"] : []),
    ...(/^HTTP\/1\.1 500 .*^x-svc-blocked: other\r$/ms.test(heard.text) ? ["a fault of its own"] : []),
    ...(garbled === undefined ? [] : [`an answer that is none: ${garbled}`]),
    ...(told.check?.(heard, arrivals) ?? []),
  ];
}

/** Every request that went upstream is a spent allow of its own; `seen` are those of the rounds before too. */
function recordFaults(arrivals: readonly Arrival[], spent: ReadonlySet<string>, seen: Set<string>): string[] {
  const actions = arrivals.map((arrival) => narrowedToken(arrival)?.actionId ?? "none");
  return actions.flatMap((action) => {
    const isDoubled = seen.has(action);
    seen.add(action);
    return [
      ...(isDoubled ? [`${action} went upstream twice`] : []),
      ...(spent.has(action) ? [] : [`${action} is no spent allow`]),
    ];
  });
}

export const isFinding = (result: Finding | Progress): result is Finding => "faults" in result;
