import type { AdministrativeEvents } from "../ports/administrative-event.ts";
import type { Clock } from "../ports/clock.ts";
import type { DecisionCounts } from "../ports/decision-counts.ts";
import type { DecisionReads, WouldBlocks } from "../ports/decision-log.ts";
import type { Declarations } from "../ports/declarations.ts";
import type { Sessions } from "../ports/sessions.ts";
import { administrativeEvents } from "./administrative-events.ts";
import { DatabaseUnavailable, type Sql } from "./database.ts";
import { decisionCounts } from "./decision-counts.ts";
import { decisionReads } from "./decisions.ts";
import { declarations } from "./declarations.ts";
import { sessionPages } from "./sessions.ts";
import type { StandbyWatch } from "./standby-watch.ts";
import { wouldBlocks } from "./would-block.ts";

/** What people and programs read of the record. No decision, spend or check of a revocation stands on any of it. */
export interface AuditReads {
  readonly decisions: DecisionReads;
  readonly sessions: Pick<Sessions, "page">;
  readonly administrativeEvents: AdministrativeEvents;
  readonly wouldBlocks: WouldBlocks;
  readonly decisionCounts: DecisionCounts;
  readonly declarations: Declarations;
}

/** The read-only database that `AUDIT_DATABASE_URL` names. */
export interface AuditStandby {
  readonly sql: Sql;
  readonly watch: Pick<StandbyWatch, "isAnswering" | "behindMs">;
}

export const readsOver = (sql: Sql, deadlineMs: number): AuditReads => ({
  decisions: decisionReads(sql, deadlineMs),
  sessions: sessionPages(sql, deadlineMs),
  administrativeEvents: administrativeEvents(sql, deadlineMs),
  wouldBlocks: wouldBlocks(sql, deadlineMs),
  decisionCounts: decisionCounts(sql, deadlineMs),
  declarations: declarations(sql, deadlineMs),
});

/**
 * How long after a record's own time it may still be committed: a commit's deadline, and what the clocks of two
 * processes may differ. Half of what `svc decisions --follow` stays behind, so that a standby which follows closely
 * answers it.
 */
export const settlesWithinMs = 2_500;

/**
 * Reads by the standby, except for what it cannot know yet (contract: `AUDIT_DATABASE_URL`):
 * - an action that it does not have is asked of the primary, so that whoever was told an `action_id` can read it;
 * - a span that is over is answered by the standby only where it shows all of it, so that whoever walks the record span by
 *   span misses nothing;
 * - what it does not answer, the primary does, on as few connections as if there were no standby.
 * Everything else may lag: newest pages, counts, lists.
 */
export function standbyFirst(
  primary: AuditReads,
  standby: AuditReads,
  watch: AuditStandby["watch"],
  clock: Clock,
): AuditReads {
  const first = async <T>(ask: (reads: AuditReads) => Promise<T>): Promise<T> => {
    if (!watch.isAnswering()) return ask(primary);
    return ask(standby).catch((fault: unknown) => {
      // A read that took too long there would take as long here.
      if (isTooSlow(fault)) throw fault;
      return ask(primary);
    });
  };
  const isShown = (untilMs: number | undefined): boolean =>
    untilMs === undefined || untilMs > clock.nowMs() || untilMs + settlesWithinMs <= clock.nowMs() - watch.behindMs();
  const upTo = <T>(untilMs: number | undefined, ask: (reads: AuditReads) => Promise<T>): Promise<T> =>
    isShown(untilMs) ? first(ask) : ask(primary);
  return {
    decisions: {
      lineage: async (actionId) =>
        (await first((reads) => reads.decisions.lineage(actionId))) ?? primary.decisions.lineage(actionId),
      page: (query) => upTo(query.filter.untilMs, (reads) => reads.decisions.page(query)),
    },
    sessions: { page: (query) => first((reads) => reads.sessions.page(query)) },
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

/** Our own deadline, or the server's `statement_timeout`. */
const isTooSlow = (fault: unknown): boolean => {
  if (!(fault instanceof DatabaseUnavailable)) return false;
  const { cause } = fault as { cause?: { code?: unknown } };
  return cause === undefined || cause.code === "57014";
};
