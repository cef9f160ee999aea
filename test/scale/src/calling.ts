import type { Api } from "@svc/test-conformance/api";
import { clerkSession } from "@svc/test-conformance/ledger";

/** The callers' results. */
export interface CallResults {
  /** Actions whose exchange returned a token. */
  readonly exchanged: readonly string[];
  /** Sessions that ended in a fault, or without a response. */
  readonly failed: number;
}

export interface Calling {
  /** Complete sessions so far. */
  sessions(): number;
  /** Completes the open sessions. */
  stop(): Promise<CallResults>;
}

/** Callers that open session after session, delegate twice and read. Without a response they begin a new session. */
export function startCalling(api: Api, scope: string, callers: number): Calling {
  const exchanged: string[] = [];
  let sessions = 0;
  let failed = 0;
  let isStopping = false;
  const keepCalling = async (): Promise<void> => {
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
  const all = Array.from({ length: callers }, keepCalling);
  return {
    sessions: () => sessions,
    async stop() {
      isStopping = true;
      await Promise.all(all);
      return { exchanged, failed };
    },
  };
}
