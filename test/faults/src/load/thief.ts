import { setTimeout as delay } from "node:timers/promises";
import type { Api } from "@svc/test-conformance/api";
import { ledgerHops } from "@svc/test-conformance/ledger";
import type { Random } from "@svc/test-support";
import { scope } from "./books.ts";

/** Spends tokens, then presents them again and again, each time with a new allow. */
export interface Thief {
  /** Sessions in which a spent token was exchanged again. */
  readonly granted: readonly string[];
  /** Runs until stopped. */
  run(signal: AbortSignal): Promise<void>;
  /** Presents the newest spent tokens again; resolves with the number of refusals. */
  sweep(): Promise<number>;
}

interface Spent {
  readonly session: string;
  readonly token: string;
}

const newest = 30;
const hop = ledgerHops(scope).planner;

export function createThief(api: Api, { random, pauseMs }: { random: Random; pauseMs: number }): Thief {
  const spent: Spent[] = [];
  const granted: string[] = [];
  const spend = async () => {
    const { session, token } = await api.consent(scope);
    const { body } = await api.authorize(session, token, hop);
    // Without a response the spend is unknown, and presenting the token again would be no replay.
    if ((await api.exchange(token, hop, body.action_id)).status === 200) spent.push({ session, token });
  };
  const presentAgain = async ({ session, token }: Spent): Promise<boolean> => {
    const { body } = await api.authorize(session, token, hop);
    const { status } = await api.exchange(token, hop, body?.action_id ?? "");
    if (status === 200) granted.push(session);
    return status === 400;
  };
  const recent = () => spent.slice(-newest);
  return {
    granted,
    async run(signal) {
      while (!signal.aborted) {
        const [one, ...others] = recent();
        const isThief = one !== undefined && random.below(2) === 0;
        await (isThief ? presentAgain(random.of([one, ...others])) : spend()).catch(() => {});
        await delay(random.below(2 * pauseMs));
      }
    },
    async sweep() {
      let refused = 0;
      for (const each of recent()) if (await presentAgain(each)) refused += 1;
      return refused;
    },
  };
}
