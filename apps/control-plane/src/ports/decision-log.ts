import type { DecisionRecord, Delegation, NewMark, RecordedHop } from "@svc/core";
import type { Epochs } from "./session-state.ts";

/** What committing a decision must do besides: nothing, hold still for marks, or set some. */
export type Marking =
  | { readonly kind: "none" }
  /** An edge that marks flow back along: commits before or after a concurrent mark, never beside it. */
  | { readonly kind: "delegation" }
  /** Computed from the session's delegations as they stand when the marks are set. */
  | {
      readonly kind: "marks";
      readonly marksFor: (delegations: readonly Delegation[]) => readonly NewMark[];
      /** SHA-256 of the presented token's `jti`: a spent token never marks. */
      readonly jtiHash: Uint8Array;
    };

export interface Committed {
  /** How many marks were set. */
  readonly marks: number;
}

export interface DecisionLog {
  /**
   * Commits the record and its marks, all or nothing; durable when it resolves. `stale` when session or denials
   * changed since `epochs` were read: nothing was written, read again and decide again.
   */
  append(record: DecisionRecord, marking: Marking, epochs: Epochs): Promise<Committed | "stale">;
  find(actionId: string): Promise<DecisionRecord | undefined>;
}

export interface DecisionReads {
  /** The action and every ancestor that exists, in one query; undefined where the action does not. */
  lineage(actionId: string): Promise<Lineage | undefined>;
  page(query: DecisionQuery): Promise<readonly DecisionRow[]>;
}

export interface Lineage {
  readonly action: RecordedHop;
  readonly reached: ReadonlyMap<string, RecordedHop>;
}

/** A decision as the audit log shows it. */
export interface DecisionRow {
  /** Position in the log, for keyset paging. */
  readonly seq: bigint;
  readonly record: DecisionRecord;
  readonly spentAtMs: number | null;
  readonly paramsHash: string | null;
}

export interface DecisionFilter {
  readonly sessionId?: string | undefined;
  readonly agent?: string | undefined;
  readonly outcome?: DecisionRecord["decision"] | undefined;
  readonly denyReason?: DecisionRecord["denyReason"] | undefined;
  readonly enforced?: boolean | undefined;
  readonly targetKind?: DecisionRecord["targetKind"] | undefined;
  /** Epoch milliseconds, inclusive. */
  readonly sinceMs?: number | undefined;
  /** Epoch milliseconds, exclusive. */
  readonly untilMs?: number | undefined;
  readonly taint?: DecisionRecord["taint"] | undefined;
  readonly privileged?: boolean | undefined;
}

/** Everything that observe mode let pass in one way, together (contract: Audit, would-block). */
export interface WouldBlock
  extends Pick<DecisionRecord, "actingAgent" | "target" | "targetKind" | "dataClass" | "denyReason"> {
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
  /** Position among the groups, for keyset paging. */
  readonly position: WouldBlockPosition;
}

/** Agent, target, its kind, reason, and a hash of the data class. */
export type WouldBlockPosition = readonly [string, string, string, string, string];

export interface WouldBlockQuery {
  readonly scope: string | undefined;
  /** Epoch milliseconds, inclusive. */
  readonly sinceMs: number | undefined;
  /** Epoch milliseconds, exclusive. */
  readonly untilMs: number | undefined;
  readonly after: WouldBlockPosition | undefined;
  readonly limit: number;
}

export interface WouldBlocks {
  /** In the order of their positions. */
  page(query: WouldBlockQuery): Promise<readonly WouldBlock[]>;
}

/** Newest first; rows before `beforeSeq` only. */
export interface DecisionQuery {
  readonly filter: DecisionFilter;
  readonly beforeSeq: bigint | undefined;
  readonly limit: number;
}
