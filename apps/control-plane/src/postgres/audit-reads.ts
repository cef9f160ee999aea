import type { AuditReads } from "../ports/audit-reads.ts";
import type { Clock } from "../ports/clock.ts";
import type { StandbyWatch } from "../ports/replication.ts";
import { eventReads } from "./administrative-events.ts";
import { DatabaseUnavailable, type Pool } from "./database.ts";
import { decisionCounts } from "./decision-counts.ts";
import { decisionReads } from "./decisions.ts";
import { declarations } from "./manifests.ts";
import { proofReads } from "./proofs.ts";
import { reachReads } from "./reach.ts";
import { recordedCallReads } from "./recorded-calls.ts";
import { sealReads } from "./seals/state.ts";
import { searchReads } from "./search.ts";
import { sessionStories } from "./session-story.ts";
import { sessionPages } from "./sessions.ts";
import { wouldBlockPlaceReads } from "./would-block/places.ts";
import { wouldBlockReads } from "./would-block/reads.ts";
import { wouldBlockScopeReads } from "./would-block/scopes.ts";

export const auditReads = (pool: Pool): AuditReads => ({
  ...decisionReads(pool),
  ...sessionPages(pool),
  ...reachReads(pool),
  ...eventReads(pool),
  ...searchReads(pool),
  ...sessionStories(pool),
  ...proofReads(pool),
  ...decisionCounts(pool),
  ...recordedCallReads(pool),
  ...wouldBlockReads(pool),
  ...wouldBlockPlaceReads(pool),
  ...wouldBlockScopeReads(pool),
  ...declarations(pool),
  ...sealReads(pool),
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
    lineage: async (actionId) => (await first((reads) => reads.lineage(actionId))) ?? primary.lineage(actionId),
    decisions: (query) => upTo(query.filter.untilMs, (reads) => reads.decisions(query)),
    sessions: (query) => first((reads) => reads.sessions(query)),
    countRunning: (query) => first((reads) => reads.countRunning(query)),
    countCallsOf: (query) => first((reads) => reads.countCallsOf(query)),
    events: (query) => upTo(query.untilMs, (reads) => reads.events(query)),
    recordedCalls: (query) => upTo(query.untilMs, (reads) => reads.recordedCalls(query)),
    wouldBlocks: (query) => upTo(query.untilMs, (reads) => reads.wouldBlocks(query)),
    // Of groups that were just read.
    wouldBlockPlaces: (query) => upTo(query.untilMs, (reads) => reads.wouldBlockPlaces(query)),
    sessionTotals: (id, newest) => first((reads) => reads.sessionTotals(id, newest)),
    sessionFamily: (id, page) => first((reads) => reads.sessionFamily(id, page)),
    prove: (sources, id) => first((reads) => reads.prove(sources, id)),
    findId: (query) => first((reads) => reads.findId(query)),
    findName: (query) => first((reads) => reads.findName(query)),
    countDecisions: (query) => first((reads) => reads.countDecisions(query)),
    countCalls: (query) => first((reads) => reads.countCalls(query)),
    countPeople: (query) => first((reads) => reads.countPeople(query)),
    observedByScope: (kinds) => first((reads) => reads.observedByScope(kinds)),
    sealState: (most) => first((reads) => reads.sealState(most)),
    scopesOfTool: (tool, limit) => first((reads) => reads.scopesOfTool(tool, limit)),
    scopes: (query) => first((reads) => reads.scopes(query)),
    versions: (query) => first((reads) => reads.versions(query)),
    acceptedManifests: (agents) => first((reads) => reads.acceptedManifests(agents)),
  };
}

/** Our deadline, or the server's `statement_timeout`. */
const isTooSlow = (fault: unknown): boolean => {
  if (!(fault instanceof DatabaseUnavailable)) return false;
  const { cause } = fault as { cause?: { code?: unknown } };
  return cause === undefined || cause.code === "57014";
};
