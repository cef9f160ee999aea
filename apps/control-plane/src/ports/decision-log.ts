import type { DecisionRecord, Delegation, NewMark, RecordedHop } from "@svc/core";
import type { Epochs } from "./session-state.ts";

/** What the commit of a decision does to the session's taint marks. */
export type Marking =
  | { readonly kind: "none" }
  /** An edge along which marks spread. It commits before or after a concurrent mark, never beside it. */
  | { readonly kind: "delegation" }
  | {
      readonly kind: "marks";
      /** Called with the session's delegations at the time of the commit. */
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
   * Commits the record and its marks, all or nothing; durable when it resolves. `stale`: the session or the denials
   * changed since `epochs` were read, and nothing was written.
   */
  append(record: DecisionRecord, marking: Marking, epochs: Epochs): Promise<Committed | "stale">;
  find(actionId: string): Promise<DecisionRecord | undefined>;
}

export interface DecisionReads {
  /** The action and its stored ancestors, in one query. Undefined without such an action. */
  lineage(actionId: string): Promise<Lineage | undefined>;
  /** Newest first. */
  page(query: DecisionQuery): Promise<readonly DecisionRow[]>;
}

export interface Lineage {
  readonly action: RecordedHop;
  readonly reached: ReadonlyMap<string, RecordedHop>;
}

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
  /** Inclusive. */
  readonly sinceMs?: number | undefined;
  /** Exclusive. */
  readonly untilMs?: number | undefined;
  readonly taint?: DecisionRecord["taint"] | undefined;
  readonly privileged?: boolean | undefined;
}

export interface DecisionQuery {
  readonly filter: DecisionFilter;
  /** Exclusive. */
  readonly beforeSeq: bigint | undefined;
  readonly limit: number;
}

/** Equal observed denies, counted together (docs/reference/record.md#would-block-list). */
export interface WouldBlock
  extends Pick<DecisionRecord, "actingAgent" | "target" | "targetKind" | "dataClass" | "denyReason"> {
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
  /** For keyset paging. */
  readonly position: WouldBlockPosition;
}

/** Agent, target, target kind, reason, and a hash of the data class. */
export type WouldBlockPosition = readonly [string, string, string, string, string];

export interface WouldBlockQuery {
  readonly scope: string | undefined;
  /** Inclusive. */
  readonly sinceMs: number | undefined;
  /** Exclusive. */
  readonly untilMs: number | undefined;
  readonly after: WouldBlockPosition | undefined;
  readonly limit: number;
}

export interface WouldBlocks {
  /** In the order of `position`. */
  page(query: WouldBlockQuery): Promise<readonly WouldBlock[]>;
}
