/** The sealed rows, in the order of a batch. Exchanges and renewals are rows of one table. */
export const sources = ["session", "decision", "exchange", "mint", "renewal", "event"] as const;
export type Source = (typeof sources)[number];

export interface SourceFacts {
  readonly table: string;
  /** A time-ordered UUID (RFC 9562 section 5.7), unique among the source's rows. */
  readonly id: string;
  /** The column and value that the source's rows of the table have. */
  readonly only?: readonly [column: string, value: string];
  /** Whether rows go when their month does (see the control plane's retention). */
  readonly retires: boolean;
}

export const sourceFacts: Readonly<Record<Source, SourceFacts>> = {
  session: { table: "session", id: "session_id", retires: false },
  decision: { table: "decision", id: "action_id", retires: true },
  exchange: { table: "spend", id: "action_id", only: ["kind", "exchange"], retires: true },
  mint: { table: "mint", id: "action_id", retires: true },
  renewal: { table: "spend", id: "renewal_id", only: ["kind", "renewal"], retires: true },
  event: { table: "administrative_event", id: "event_id", retires: false },
};

/** A value for each source. */
export const perSource = <T>(of: (source: Source) => T): Readonly<Record<Source, T>> =>
  Object.fromEntries(sources.map((source) => [source, of(source)])) as Record<Source, T>;

const columns = (names: string): readonly string[] => names.split(" ");

const spendColumns = columns(
  "jti_hash action_id session_id kind prover proof_jti_hash spent_at renewal_id actor agent",
);

const first: Readonly<Record<Source, readonly string[]>> = {
  session: columns("session_id user_sub scope policy_version hop_budget consented_by consented_at expires_at"),
  decision: columns(
    "action_id seq record_version session_id stage hop chain acting_agent target target_kind data_class decision " +
      "deny_reason recoverable enforced privileged taint taint_source policy_version guarantee_level " +
      "parent_action_id decided_at present",
  ),
  exchange: spendColumns,
  mint: columns("action_id session_id params_hash prover proof_jti_hash minted_at"),
  renewal: spendColumns,
  event: columns("event_id kind ts actor session_id agent reason details"),
};
const spendWithSibling = [...spendColumns, "sibling_jti_hash"];

/**
 * The columns of a leaf. A seal names its format, and a format is never edited: a column that a table gains later is
 * listed by the next format, and must be null in the rows that were sealed under an earlier one.
 */
const formats = [first, { ...first, exchange: spendWithSibling, renewal: spendWithSibling }];

/** Of the seals that are written today; formats count from 1. */
export const currentFormat = formats.length;

/** The columns that a leaf of this format covers; undefined for a format that is not known here. */
export const columnsOf = (format: number, source: Source): readonly string[] | undefined =>
  formats[format - 1]?.[source];
