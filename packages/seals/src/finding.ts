import type { SealFault } from "./chain.ts";
import type { RetirementFault } from "./retirements.ts";
import type { TamperedRow } from "./rows.ts";
import type { SchemaFault } from "./schema.ts";
import type { Source } from "./sources.ts";

/**
 * What an examination finds. `batch_changed`: rows and list are both not what was sealed, so the rows cannot be named.
 * `seal_stray`: a row that the seals after it pass over. `not_vouched`: no seal from there on is signed by a given key. `head_missing`: a seal that was seen before was removed.
 * `row_from_future`: its time is in the future, so it would stay unsealed. `unsealed_too_long`: nothing seals.
 */
export type FindingKind =
  | TamperedRow["kind"]
  | "row_from_future"
  | "list_changed"
  | "batch_changed"
  | "seal_removed"
  | `seal_${SealFault}`
  | "seal_stray"
  | "not_vouched"
  | "head_missing"
  | RetirementFault
  | "unsealed_too_long"
  | SchemaFault;

export interface Finding {
  readonly kind: FindingKind;
  readonly batch?: number;
  /** The last of several batches in a row. */
  readonly throughBatch?: number;
  readonly source?: Source;
  /** Of the row. */
  readonly id?: string;
  /** `YYYY-MM`. */
  readonly month?: string;
  readonly table?: string;
  /** Of the rule, trigger or function. */
  readonly name?: string;
}
