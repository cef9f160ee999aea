import type {
  AdministrativeEvent,
  AdministrativeEventKind,
  CallCount,
  DecisionCount,
  DecisionOrder,
  DecisionRecord,
  decisionsQuery,
  eventsQuery,
  FamilySession,
  Filter,
  PersonCount,
  ReconciledVersion,
  RecordedCall,
  RecordedHop,
  RecordedPlace,
  ScopeCount,
  ScopeSummary,
  SessionSummary,
  SessionTotals,
  scopesQuery,
  sessionsQuery,
  WouldBlock,
  wouldBlockQuery,
} from "@svc/core";
import type { Proven, Source } from "@svc/seals";

/** Reads of the record and of what is declared. No decision, spend or check of a revocation depends on them. */
export interface AuditReads {
  /** The action and its stored ancestors, in one query. Undefined without such an action. */
  lineage(actionId: string): Promise<Lineage | undefined>;
  /** Newest first, or oldest first. */
  decisions(query: DecisionsQuery): Promise<DecisionsRead>;
  /** Newest first. */
  sessions(query: SessionQuery): Promise<readonly SessionSummary[]>;
  /** Running sessions that match, up to `most` of them. */
  countRunning(query: RunningQuery): Promise<number>;
  /** Allowed calls of a target among the newest decisions of a span. */
  countCallsOf(query: CallsQuery): Promise<number>;
  /** Newest first. */
  events(query: EventQuery): Promise<readonly AdministrativeEvent[]>;
  /** The newest `limit` decisions before `after`, like ones together; of each kind the newest three identifiers. */
  recordedCalls(query: RecordedCallsQuery): Promise<RecordedCalls>;
  /** In the order of `position`. */
  wouldBlocks(query: WouldBlockQuery): Promise<readonly WouldBlockRow[]>;
  /** For each group from where its calls were made; undefined where that is more than a page can hold. */
  wouldBlockPlaces(query: PlacesQuery): Promise<readonly (readonly WouldBlockPlace[] | undefined)[]>;
  /** What has this identifier, or one of the `newest` rows with this end. */
  findId(query: { readonly id: string; readonly isWhole: boolean; readonly newest: number }): Promise<readonly Match[]>;
  /** What has this text in its name or reason; persons, tools and reasons among the `newest` rows. */
  findName(query: { readonly text: string; readonly newest: number }): Promise<readonly Match[]>;
  /** Over the `newest` decisions of the session. */
  sessionTotals(sessionId: string, newest: number): Promise<SessionTotals>;
  /** The others that serve the same agent, oldest first. */
  sessionFamily(
    sessionId: string,
    page: { readonly nowMs: number; readonly limit: number },
  ): Promise<readonly FamilySession[]>;
  /** Proves for each source that the row of this identifier is sealed, or returns why it cannot. */
  prove(sources: readonly Source[], id: string): Promise<readonly Proven[]>;
  /** Counts equal decisions among the newest ones of a span; in no order. */
  countDecisions(query: CountQuery): Promise<readonly DecisionCount[]>;
  /** Counts the newest decisions of a span by caller, target and outcome; in no order. */
  countCalls(query: RecentCalls): Promise<readonly CallCount[]>;
  /** Counts them by the person of their session, most first. */
  countPeople(query: RecentCalls & { readonly limit: number }): Promise<readonly PersonCount[]>;
  /** Counts the observed denies of the first `kinds` of calls by scope, most first. */
  observedByScope(kinds: number): Promise<readonly ScopeCount[]>;
  /** The time of the newest seal, and up to `most` of the decisions after it. It is not verified here. */
  sealState(most: number): Promise<{ readonly sealedAtMs: number | null; readonly unsealed: number }>;
  /** The scopes whose newest policy has a tool, by name. */
  scopesOfTool(tool: string, limit: number): Promise<readonly ScopeSummary[]>;
  /** The newest policy of each scope, by name. */
  scopes(query: ScopesQuery): Promise<readonly ScopeSummary[]>;
  /** Every version of an agent, newest first. */
  versions(query: Paged<number> & { readonly agentId: string }): Promise<readonly ReconciledVersion[]>;
  /** The latest accepted manifest of each agent that has one, as it was submitted. */
  acceptedManifests(agents: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

export interface Paged<Position> {
  /** The last row of the page before. */
  readonly after: Position | undefined;
  readonly limit: number;
}

export interface Span {
  /** Inclusive. */
  readonly sinceMs?: number | undefined;
  /** Exclusive. */
  readonly untilMs?: number | undefined;
}

export interface Lineage {
  readonly action: RecordedHop;
  readonly reached: ReadonlyMap<string, RecordedHop>;
}

export interface DecisionRow {
  /** Position in the log. */
  readonly seq: bigint;
  readonly record: DecisionRecord;
  readonly spentAtMs: number | null;
  readonly paramsHash: string | null;
}

export type DecisionFilter = Omit<Filter<typeof decisionsQuery>, "order"> & Span;

export interface DecisionsQuery extends Paged<bigint> {
  readonly filter: DecisionFilter;
  /** Default: newest first. */
  readonly order?: DecisionOrder | undefined;
}

/** Something that a search found: its identifier or name. */
export interface Match {
  readonly kind: "action" | "session" | "event" | "agent" | "scope" | "person" | "tool";
  readonly ref: string;
  /** The whole name, not a part of it. */
  readonly isExact: boolean;
  /** Of an event; null for the others. */
  readonly eventKind: AdministrativeEventKind | null;
  readonly atMs: number | null;
  readonly reason: string | null;
}

export interface DecisionsRead {
  readonly rows: readonly DecisionRow[];
  /** The read ended early, at this position: rows beyond it may match. */
  readonly readTo?: bigint | undefined;
}

export interface RecordedCallsQuery extends Span, Paged<bigint> {
  readonly agent?: string | undefined;
  /** Decisions of other scopes are read and left out. */
  readonly scopes: readonly string[];
}

export interface RecordedCalls {
  readonly read: number;
  /** Position and time of the last decision that was read; null where none was. */
  readonly last: { readonly seq: bigint; readonly atMs: number } | null;
  readonly calls: readonly CountedCall[];
}

export interface CountedCall extends RecordedCall, Pick<DecisionRecord, "actingAgent"> {
  readonly scope: string;
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly actionIds: readonly string[];
}

export type SessionFilter = Filter<typeof sessionsQuery>;

export interface SessionQuery extends Paged<string> {
  readonly filter: SessionFilter;
  readonly nowMs: number;
}

/** `beside`: those that people consented to beside this session, at any depth. */
export interface RunningQuery extends Omit<SessionFilter, "status"> {
  readonly beside?: string;
  readonly nowMs: number;
  readonly most: number;
}

export interface CallsQuery extends Pick<DecisionRecord, "target" | "targetKind"> {
  /** Inclusive. */
  readonly sinceMs: number;
  /** At most so many decisions are read. */
  readonly newest: number;
}

/** With `agent`: those that its accepted manifest touches. */
export type ScopesQuery = Filter<typeof scopesQuery> & Paged<string>;

export type EventQuery = Filter<typeof eventsQuery> & Span & Paged<string>;

export interface WouldBlockRow extends Omit<WouldBlock, "now"> {
  readonly position: WouldBlockPosition;
}

/** Agent, target, target kind, reason, and a hash of the data class. */
export type WouldBlockPosition = readonly [string, string, string, string, string];

export type WouldBlockQuery = Filter<typeof wouldBlockQuery> & Span & Paged<WouldBlockPosition>;

export interface PlacesQuery extends Filter<typeof wouldBlockQuery>, Span {
  readonly groups: readonly WouldBlockPosition[];
}

export interface WouldBlockPlace extends RecordedPlace {
  /** Empty for a row without a session. */
  readonly scope: string;
}

export interface CountQuery extends RecentCalls {
  /** Length of a bucket; buckets start at the Unix epoch. */
  readonly bucketMs: number;
}

/** The newest decisions of a span. */
export interface RecentCalls {
  /** Inclusive. */
  readonly sinceMs: number;
  /** Exclusive. */
  readonly untilMs?: number | undefined;
  /** At most so many decisions are read, which bounds the time. */
  readonly newest: number;
  /** Without those of others. */
  readonly of?: CallsOf | undefined;
}

/** An agent's own calls, those of a target, or those in a person's newest sessions. */
export type CallsOf = { readonly agent: string } | { readonly target: string } | { readonly userSub: string };
