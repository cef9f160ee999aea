import {
  type Finding,
  type FindingKind,
  type ProofFault,
  type SchemaFault,
  type Source,
  schemaWords,
} from "@svc/seals";
import { shown } from "../output.ts";

const rows: Readonly<Record<Source, string>> = {
  session: "session",
  decision: "decision of action",
  exchange: "exchange of action",
  mint: "transaction token of action",
  renewal: "renewal",
  event: "event",
};

type Words = (finding: Finding) => string;
const row = ({ source = "decision", id = "" }: Finding): string => `the ${rows[source]} ${shown(id)}`;
const batches = ({ batch, throughBatch = batch }: Finding): string =>
  batch === throughBatch ? `batch ${batch}` : `batches ${batch} to ${throughBatch}`;

/** Findings as sentences. */
const words: Readonly<Record<Exclude<FindingKind, SchemaFault>, Words>> = {
  row_changed: (found) => `${row(found)} differs from its seal in ${batches(found)}`,
  row_removed: (found) => `${row(found)} was removed; it was sealed in ${batches(found)}`,
  row_inserted: (found) => `${row(found)} was inserted into the range of ${batches(found)} after it was sealed`,
  row_from_future: (found) => `${row(found)} has a time in the future`,
  list_changed: (found) => `the list of ${batches(found)} differs from the sealed one`,
  batch_changed: (found) => `rows of ${batches(found)} differ from their seal, and its list is damaged too`,
  seal_removed: (found) => `the seals of ${batches(found)} were removed; their rows are unproven`,
  seal_unreadable: (found) => `the seal of ${batches(found)} is unreadable`,
  seal_unknown_key: (found) => `the seal of ${batches(found)} names a key that no earlier seal introduced`,
  seal_signature: (found) => `the signature of the seal of ${batches(found)} does not verify with its key`,
  seal_not_chained: (found) => `the seal of ${batches(found)} does not continue the one before it`,
  seal_stray: (found) => `the seal of ${batches(found)} is not part of the chain: later seals pass over it`,
  not_vouched: (found) =>
    `no key of the given set signed ${batches(found)}, or anything after: where the issuer's keys were replaced, fetch the set again`,
  head_missing: (found) =>
    `the known seal of ${batches(found)} is missing: seals were removed, or the database was restored from a backup`,
  retirement_unrecorded: ({ month = "" }) =>
    `${shown(month)} is marked as past retention without a sealed event: its missing rows are not excused`,
  retirement_early: ({ month = "" }) =>
    `${shown(month)} is marked as past retention by an event from before its end: its missing rows are not excused`,
  retirement_partial: ({ month = "" }) =>
    `${shown(month)} is past retention, but rows of it are left: its missing rows are not excused`,
  retirement_unsealed: ({ month = "" }) =>
    `the event by which ${shown(month)} is past retention is unsealed for too long, or has a time in the future`,
  unsealed_too_long: () => "rows are unsealed for too long: sealing stopped, or seals were removed",
};

export function inWords({ kind, ...finding }: Finding): string {
  return isSchemaFault(kind) ? shown(schemaWords[kind](finding)) : words[kind]({ kind, ...finding });
}

const isSchemaFault = (kind: FindingKind): kind is SchemaFault => kind in schemaWords;

export const proofWords: Readonly<Record<ProofFault, string>> = {
  unreadable: "its seal is unreadable",
  unknown_key: "no key of the given set signed its seal",
  signature: "the signature of its seal does not verify with its key",
  not_included: "row and path do not lead to the signed root",
};
