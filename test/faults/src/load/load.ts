import { createApi } from "@svc/test-conformance/api";
import { testBearers, waitUntil } from "@svc/test-support";
import { Agent } from "undici";
import type { Reply } from "../checker/evidence.ts";
import type { Random } from "../random.ts";
import { runAgent } from "./agent.ts";
import { createThief } from "./thief.ts";

/** What the agents were answered so far, counted. */
export interface Tally {
  readonly made: number;
  readonly passed: number;
  /** Refused on their merits. */
  readonly denied: number;
  /** Refused since something could not be asked, by cause. */
  readonly refused: number;
  /** No answer came. */
  readonly lost: number;
}

export interface Load {
  readonly replies: readonly Reply[];
  /** Sessions whose spent token was exchanged once more. */
  readonly replaysGranted: readonly string[];
  tally(): Tally;
  /** Resolves when so many more calls were made, whatever became of them. */
  made(count: number): Promise<void>;
  /** Resolves when so many more calls have passed. */
  passes(count: number): Promise<void>;
  /** Resolves when so many more calls have been refused for a fault, or got no answer. */
  fails(count: number): Promise<void>;
  /** Presents spent tokens again; resolves with how many were refused. */
  replay(): Promise<number>;
  /** Ends the agents, each after its present call. */
  stop(): Promise<void>;
}

export interface LoadOptions {
  readonly controlPlaneUrl: string;
  readonly enforcementPointUrls: readonly string[];
  readonly agents: number;
  readonly pauseMs: number;
  readonly random: Random;
}

/** A machine that runs the whole test suite besides is slow. */
const waitMs = 120_000;

/** Agents that call, each through one of the enforcement points, and a thief who presents what was spent. */
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
  // One world sees many loads, and no two calls have one name.
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

/** A token that is no longer known is no verdict: it follows from a session that a fault ended. */
function classOf({ status, blocked }: Reply): Exclude<keyof Tally, "made"> {
  if (status === null) return "lost";
  if (blocked === "policy") return "denied";
  return status === 200 && blocked === null ? "passed" : "refused";
}
