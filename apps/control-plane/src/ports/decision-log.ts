import type { DecisionRecord, NewSessionMark, SessionDelegation } from "@svc/core";
import type { Epochs } from "./sessions.ts";

/** What the commit of a decision does to the session's taint marks. */
export type Marking =
  | { readonly kind: "none" }
  /** An edge along which marks spread. It commits before or after a concurrent mark, never beside it. */
  | { readonly kind: "delegation" }
  | {
      readonly kind: "marks";
      /** Called with the session's delegations at the time of the commit. */
      readonly marksFor: (delegations: readonly SessionDelegation[]) => readonly NewSessionMark[];
      /** SHA-256 of the presented token's `jti`: a spent token never marks. */
      readonly jtiHash: Uint8Array;
    };

export interface Committed {
  /** How many marks were set. */
  readonly marks: number;
}

export interface DecisionLog {
  /** All or nothing; durable when it resolves. `stale`: epochs were replaced since, nothing was written. */
  append(record: DecisionRecord, marking: Marking, epochs: Epochs): Promise<Committed | "stale">;
  find(actionId: string): Promise<DecisionRecord | undefined>;
}
