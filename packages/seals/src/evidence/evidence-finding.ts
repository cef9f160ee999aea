import type { Source } from "../sources.ts";

/** What a verification of an export finds. */
export const evidenceWords = {
  row_changed: "was changed: it is not what was sealed",
  row_removed: "was removed",
  row_inserted: "was inserted: no seal of the export covers it",
  row_repeated: "is there a second time",
  row_reordered: "is not in its place",
  list_changed: "the list of sealed rows is not the sealed one",
  list_inserted: "there is a list that belongs to no seal of the span",
  seal_unreadable: "the seal is unreadable",
  seal_unknown_key: "the seal names a key that the export does not have",
  seal_signature: "the signature of the seal does not verify with its key",
  seal_not_chained: "the seal does not continue the one before it: a seal was removed, inserted or reordered",
  head_missing: "the newest seal is not the one that the manifest names: the chain's end was cut off",
  keys_changed: "the keys are not those that signed the seals",
  not_trusted: "no trusted key signed this batch, or a seal after it",
  cut_at_start: "rows of the span lie before the first seal of the export",
  cut_at_end: "rows of the span lie after the last seal of the export",
  span_shorter: "the export does not cover the required span",
  totals_changed: "the manifest names other totals than the export has",
  retirement_unproven: "the month is not proven to be past retention: its missing rows are not excused",
  retirement_partial: "the month is past retention, but the export has rows of it",
} as const;

export type EvidenceFindingKind = keyof typeof evidenceWords;

export interface EvidenceFinding {
  readonly kind: EvidenceFindingKind;
  readonly batch?: number;
  readonly source?: Source;
  /** Of the row. */
  readonly id?: string;
  /** Of the row in its batch, from 0 on. */
  readonly index?: number;
  /** In the file of rows. */
  readonly line?: number;
  /** `YYYY-MM`. */
  readonly month?: string;
}

/** A finding as a sentence. */
export function evidenceSentence({ kind, batch, source, id, index, line, month }: EvidenceFinding): string {
  const place = [
    ...(batch === undefined ? [] : [`batch ${batch}`]),
    ...(index === undefined ? [] : [`row ${index}`]),
    ...(line === undefined ? [] : [`line ${line}`]),
    ...(month === undefined ? [] : [month]),
  ].join(", ");
  const isOfRow = kind.startsWith("row_");
  const subject = isOfRow ? `${source === undefined ? "a row" : `the ${source}`} ${id ?? ""}`.trim() : "";
  const text = `${subject} ${evidenceWords[kind]}${place === "" ? "" : ` (${place})`}`.trim();
  // Foreign text: control and format characters could move the cursor or hide text.
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\uFFFD");
}
