import { createApi } from "@svc/test-conformance/api";
import { type Random, testBearers, waitUntil } from "@svc/test-support";
import { Agent } from "undici";
import type { Reply } from "../checker/evidence.ts";
import { runAgent } from "./agent.ts";
import { createThief } from "./thief.ts";

/** Counts of the agents' results. */
export interface Tally {
  readonly made: number;
  readonly passed: number;
  /** Denied by policy. */
  readonly denied: number;
  /** Blocked since a dependency failed, by cause. */
  readonly refused: number;
  /** No response. */
  readonly lost: number;
}

export interface Load {
  readonly replies: readonly Reply[];
  /** Sessions in which a spent token was exchanged again. */
  readonly replaysGranted: readonly string[];
  tally(): Tally;
  /** Resolves after this many more calls, of any result. */
  made(count: number): Promise<void>;
  /** Resolves after this many more calls have passed. */
  passes(count: number): Promise<void>;
  /** Resolves after this many more calls have failed: blocked for a fault, or without a response. */
  fails(count: number): Promise<void>;
  /** Presents spent tokens again; resolves with the number of refusals. */
  replay(): Promise<number>;
  /** Ends the agents, each after its current call. */
  stop(): Promise<void>;
}

export interface LoadOptions {
  readonly controlPlaneUrl: string;
  readonly enforcementPointUrls: readonly string[];
  readonly agents: number;
  readonly pauseMs: number;
  readonly random: Random;
}

/** Generous, since the whole test suite may run beside it. */
const waitMs = 120_000;

/** Agents that call through the enforcement points, and a thief that replays spent tokens. */
export function startLoad(options: LoadOptions): Load {
  const { controlPlaneUrl, enforcementPointUrls: urls, agents, pauseMs, random } = options;
  const replies: Reply[] = [];
  const counts = { made: 0, passed: 0, denied: 0, refused: 0, lost: 0 };
  const onReply = (reply: Reply) => {
    replies.push(reply);
    counts.made += 1;
    counts[classOf(reply)] += 1;
  };
  const dispatcher = new Agent({ connections: agents, pipelining: 1 });
  const ending = new AbortController();
  // One deployment runs several loads, so call names must be unique.
  const run = crypto.randomUUID().slice(0, 8);
  const api = createApi(controlPlaneUrl, testBearers);
  const thief = createThief(api, { random: random.fork(), pauseMs });
  const stolen = thief.run(ending.signal);
  const running = Array.from({ length: agents }, (_, index) =>
    runAgent(
      {
        ...{ name: `${run}-${index}`, api, dispatcher, pauseMs, onReply },
        url: urls[index % urls.length] ?? "",
        random: random.fork(),
      },
      ending.signal,
    ),
  );
  const more = async (what: string, count: () => number, by: number) => {
    const end = count() + by;
    await waitUntil(what, () => count() >= end, waitMs);
  };
  return {
    replies,
    replaysGranted: thief.granted,
    replay: thief.sweep,
    tally: () => ({ ...counts }),
    made: (count) => more(`${count} more calls`, () => counts.made, count),
    passes: (count) => more(`${count} more calls to pass`, () => counts.passed, count),
    fails: (count) => more(`${count} more calls to fail`, () => counts.refused + counts.lost, count),
    async stop() {
      ending.abort();
      await Promise.all([stolen, ...running]);
      await dispatcher.close();
    },
  };
}

/** An unknown token is no verdict: a fault may have ended its session. */
function classOf({ status, blocked }: Reply): Exclude<keyof Tally, "made"> {
  if (status === null) return "lost";
  if (blocked === "policy") return "denied";
  return status === 200 && blocked === null ? "passed" : "refused";
}
