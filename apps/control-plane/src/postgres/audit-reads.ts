import type { AdministrativeEvents } from "../ports/administrative-event.ts";
import type { Clock } from "../ports/clock.ts";
import type { DecisionCounts } from "../ports/decision-counts.ts";
import type { DecisionReads, WouldBlocks } from "../ports/decision-log.ts";
import type { Declarations } from "../ports/declarations.ts";
import type { StandbyWatch } from "../ports/replication.ts";
import type { Sessions } from "../ports/sessions.ts";
import { administrativeEvents } from "./administrative-events.ts";
import { DatabaseUnavailable, type Pool } from "./database.ts";
import { decisionCounts } from "./decision-counts.ts";
import { decisionReads } from "./decisions.ts";
import { declarations } from "./declarations.ts";
import { sessionPages } from "./sessions.ts";
import { wouldBlocks } from "./would-block.ts";

/** Reads of the record. No decision, spend or check of a revocation depends on them. */
export interface AuditReads {
  readonly decisions: DecisionReads;
  readonly sessionPages: Pick<Sessions, "page">;
  readonly administrativeEvents: AdministrativeEvents;
  readonly wouldBlocks: WouldBlocks;
  readonly decisionCounts: DecisionCounts;
  readonly declarations: Declarations;
}

export const auditReads = (pool: Pool): AuditReads => ({
  decisions: decisionReads(pool),
  sessionPages: sessionPages(pool),
  administrativeEvents: administrativeEvents(pool),
  wouldBlocks: wouldBlocks(pool),
  decisionCounts: decisionCounts(pool),
  declarations: declarations(pool),
});

/**
 * A record may still be committed so long after its own time: the deadline of a commit, and the difference of two
 * clocks. `svc decisions --follow` stays twice as far behind, so that a close standby serves it.
 */
const settlesWithinMs = 2_500;

/**
 * Reads from the standby, except for what it may not have yet (docs/reference/record.md#reads-from-a-standby):
 * an action that it does not have, and a past span that it does not show in full, come from the primary. When the
 * standby fails, the primary serves all reads. Newest pages, counts and lists may lag.
 */
export function standbyFirst(primary: AuditReads, standby: AuditReads, watch: StandbyWatch, clock: Clock): AuditReads {
  const first = async <T>(read: (reads: AuditReads) => Promise<T>): Promise<T> => {
    if (!watch.isAnswering()) return read(primary);
    return read(standby).catch((fault: unknown) => {
      // A read that was too slow there would be as slow here.
      if (isTooSlow(fault)) throw fault;
      return read(primary);
    });
  };
  const isShown = (untilMs: number | undefined): boolean =>
    untilMs === undefined || untilMs > clock.nowMs() || untilMs + settlesWithinMs <= clock.nowMs() - watch.behindMs();
  const upTo = <T>(untilMs: number | undefined, read: (reads: AuditReads) => Promise<T>): Promise<T> =>
    isShown(untilMs) ? first(read) : read(primary);
  return {
    decisions: {
      lineage: async (actionId) =>
        (await first(({ decisions }) => decisions.lineage(actionId))) ?? primary.decisions.lineage(actionId),
      page: (query) => upTo(query.filter.untilMs, ({ decisions }) => decisions.page(query)),
    },
    sessionPages: { page: (query) => first((reads) => reads.sessionPages.page(query)) },
    administrativeEvents: { page: (query) => upTo(query.untilMs, (reads) => reads.administrativeEvents.page(query)) },
    wouldBlocks: { page: (query) => upTo(query.untilMs, (reads) => reads.wouldBlocks.page(query)) },
    decisionCounts: {
      count: (query) => first((reads) => reads.decisionCounts.count(query)),
      observedByScope: (newest) => first((reads) => reads.decisionCounts.observedByScope(newest)),
    },
    declarations: {
      scopes: (query) => first((reads) => reads.declarations.scopes(query)),
      versions: (query) => first((reads) => reads.declarations.versions(query)),
      accepted: (agents) => first((reads) => reads.declarations.accepted(agents)),
    },
  };
}

/** Our deadline, or the server's `statement_timeout`. */
const isTooSlow = (fault: unknown): boolean => {
  if (!(fault instanceof DatabaseUnavailable)) return false;
  const { cause } = fault as { cause?: { code?: unknown } };
  return cause === undefined || cause.code === "57014";
};
