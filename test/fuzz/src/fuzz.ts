import fc from "fast-check";
import { type Received, sendBytes } from "./agent.ts";
import type { Arrival } from "./recording-upstream.ts";
import { faultsOf, narrowedToken } from "./request-rules.ts";
import { responseFault } from "./response.ts";
import { caseName, caseOf, createRounds, type Rounds } from "./rounds.ts";
import type { FuzzStand } from "./stand.ts";
import type { Case, Target } from "./target.ts";

export interface Finding {
  readonly target: string;
  /** The seed whose first round has it. */
  readonly seed: number;
  readonly faults: readonly string[];
  /** The request sent, and the upstream's response. */
  readonly sent?: string;
  readonly answer?: string;
  readonly received?: string;
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
  /** Whether to begin another round; called with the progress so far. */
  readonly shouldContinue: (progress: Progress) => boolean;
  readonly onProgress?: (progress: Progress) => void;
}

/** Few enough that a seed soon repeats a case. */
const casesPerRound = 256;
const atOnce = 24;

/** A valid request gets its response, late on a busy machine; an invalid one may get none. */
const wholeQuietMs = 60_000;
const brokenQuietMs = 300;

/** Rounds of every target in turn, each with its own seed, until time is up or a rule is violated. */
export async function fuzz(
  stand: FuzzStand,
  { targets, seed, shouldContinue, onProgress }: FuzzOptions,
): Promise<Finding | Progress> {
  const done = { target: "", cases: 0, arrivals: 0 };
  const sofar = { rounds: createRounds(), actions: new Set<string>() };
  for (let round = 0; ; round++) {
    for (const target of targets) {
      if (!shouldContinue(done)) return done;
      const result = await runRound(stand, target, seed + round, sofar);
      if ("faults" in result) return result;
      done.target = target.name;
      done.cases += casesPerRound;
      done.arrivals += result.arrivals;
      onProgress?.(done);
    }
  }
}

interface SentCase {
  readonly name: string;
  readonly sent: Case;
  readonly received: Received;
}

interface SoFar {
  readonly rounds: Rounds;
  /** Those that went upstream. */
  readonly actions: Set<string>;
}

/** A new session for each round, so that its whole record can be read. */
async function runRound(
  stand: FuzzStand,
  target: Target,
  seed: number,
  { rounds, actions }: SoFar,
): Promise<Finding | { arrivals: number }> {
  const { session, token } = await stand.consent();
  const round = rounds.begin(session);
  const cases = fc.sample(target.cases, { seed, numRuns: casesPerRound });
  const sentCases = await sendAll(stand, cases, { session, token, round });
  const arrivals = stand.take();
  const finding = (faults: readonly string[], of?: SentCase): Finding => ({
    target: target.name,
    seed,
    faults,
    ...(of && { sent: of.sent.send, received: of.received.text.slice(0, 4_000) }),
    ...(of?.sent.answer !== undefined && { answer: of.sent.answer }),
  });
  for (const each of sentCases) {
    const own = arrivals.filter((arrival) => caseOf(arrival) === each.name);
    const faults = [...caseFaults(each, own), ...own.flatMap((arrival) => faultsOf(arrival, session))];
    if (faults.length > 0) return finding(faults, each);
  }
  // Requests without a case name are judged by the other rules.
  const bySession = Map.groupBy(arrivals, (arrival) => rounds.sessionOf(arrival));
  const ofRecord = [...bySession].map(async ([session, arrivals]) => [
    ...arrivals.flatMap((arrival) => faultsOf(arrival, session).map((fault) => `${fault}: ${JSON.stringify(arrival)}`)),
    ...recordFaults(arrivals, await stand.spentActions(session), actions),
  ]);
  const faults = [...(await Promise.all(ofRecord)).flat(), ...(await stand.faults())];
  return faults.length > 0 ? finding(faults) : { arrivals: arrivals.length };
}

async function sendAll(
  stand: FuzzStand,
  cases: readonly Case[],
  { session, token, round }: { session: string; token: string; round: number },
): Promise<SentCase[]> {
  const sentCases: SentCase[] = [];
  const waiting = cases.map((sent, at) => ({ sent, name: caseName(round, at) })).toReversed();
  const own = `127.0.0.1:${stand.port}`;
  const sendNext = async () => {
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const { sent, name } = next;
      if (sent.answer !== undefined) stand.answers.set(name, sent.answer);
      const bytes = sent.send
        .replaceAll("{bearer}", token)
        .replaceAll("{session}", session)
        .replaceAll("{own}", own)
        .replaceAll("{case}", name);
      sentCases.push({
        name,
        sent,
        received: await sendBytes(stand.port, bytes, sent.check ? wholeQuietMs : brokenQuietMs),
      });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, sendNext));
  stand.answers.clear();
  return sentCases;
}

function caseFaults({ sent, received }: SentCase, arrivals: readonly Arrival[]): string[] {
  const garbled = sent.check === undefined ? undefined : responseFault(received.text, sent.isHead ?? false);
  return [
    ...(received.isHung ? ["the connection was not closed"] : []),
    ...(/^HTTP\/1\.1 500 .*^x-svc-blocked: other\r$/ms.test(received.text)
      ? ["an unclassified fault of the enforcement point"]
      : []),
    ...(garbled === undefined ? [] : [`a malformed response: ${garbled}`]),
    ...(sent.check?.(received, arrivals) ?? []),
  ];
}

/** Every upstream request has its own spent allow; `seen` includes the rounds before. */
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
