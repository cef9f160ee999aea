import type { Api } from "@svc/test-conformance/api";
import { clerkSession } from "@svc/test-conformance/ledger";

/** What callers were told. */
export interface Told {
  /** Actions whose exchange answered with a token. */
  readonly exchanged: readonly string[];
  /** Sessions that ended in a fault, or in no answer. */
  readonly failed: number;
}

export interface Calling {
  /** Whole sessions so far. */
  sessions(): number;
  /** Lets what is under way end. */
  stop(): Promise<Told>;
}

/** Callers that open session after session, delegate twice and read. Whoever gets no answer begins a new session. */
export function startCalling(api: Api, scope: string, callers: number): Calling {
  const exchanged: string[] = [];
  let sessions = 0;
  let failed = 0;
  let isStopping = false;
  const callOnAndOn = async (): Promise<void> => {
    while (!isStopping) {
      try {
        const { session, planner, clerk, hops } = await clerkSession(api, scope);
        exchanged.push(planner.action, clerk.action);
        exchanged.push((await api.hop(session, clerk.token, hops.read)).action);
        sessions += 1;
      } catch {
        failed += 1;
      }
    }
  };
  const all = Array.from({ length: callers }, callOnAndOn);
  return {
    sessions: () => sessions,
    async stop() {
      isStopping = true;
      await Promise.all(all);
      return { exchanged, failed };
    },
  };
}
