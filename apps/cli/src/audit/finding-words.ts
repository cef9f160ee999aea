import type { Finding, FindingKind, ProofFault, Source } from "@svc/seals";
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

/** What a finding says to a person. */
const words: Readonly<Record<FindingKind, Words>> = {
  row_changed: (found) => `${row(found)} is not as it was sealed in ${batches(found)}`,
  row_removed: (found) => `${row(found)} is gone; it was sealed in ${batches(found)}`,
  row_inserted: (found) => `${row(found)} was put there after ${batches(found)} was sealed, which has its place`,
  row_from_future: (found) => `${row(found)} bears a time that has not come yet`,
  list_changed: (found) => `the list of ${batches(found)} is not the one that was sealed`,
  batch_changed: (found) => `rows of ${batches(found)} are not as they were sealed, and its list can name none of them`,
  seal_removed: (found) => `the seals of ${batches(found)} are gone; nothing vouches for their rows`,
  seal_unreadable: (found) => `what stands in place of the seal of ${batches(found)} is none`,
  seal_unknown_key: (found) => `the seal of ${batches(found)} names a key that nobody introduced`,
  seal_signature: (found) => `the signature on the seal of ${batches(found)} is not of the key that it names`,
  seal_not_chained: (found) => `the seal of ${batches(found)} does not follow the one before it`,
  not_vouched: (found) =>
    `no key of the given set signed ${batches(found)}, or anything after: where the issuer's keys were replaced, fetch the set again`,
  head_missing: (found) =>
    `the seal of ${batches(found)} that was seen before is no more: seals were taken away, or the database went back to a backup`,
  retirement_unrecorded: ({ month = "" }) => `${shown(month)} is marked as past retention, and no event says so`,
  unsealed_too_long: () => "rows wait to be sealed for too long: nothing seals, or seals were taken away",
};

export const inWords = (finding: Finding): string => words[finding.kind](finding);

export const proofWords: Readonly<Record<ProofFault, string>> = {
  unreadable: "its seal is none",
  unknown_key: "no key of the given set signed its seal",
  signature: "the signature on its seal is not of the key that it names",
  not_included: "row and path do not lead to the root that was signed",
};
