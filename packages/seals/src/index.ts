export {
  type ChainWalk,
  type CheckedSeal,
  chainWalk,
  type SealFault,
  type StoredSeal,
  sealFaults,
} from "./chain.ts";
export type { Counts, Entry } from "./entries.ts";
export { type Examination, type Examined, examineRecord, type SealHead } from "./examine.ts";
export { type Finding, type FindingKind, findingKinds } from "./finding.ts";
export { monthOfId, timeOfId } from "./ids.ts";
export { idOf, leafOf, type Row } from "./leaf.ts";
export {
  checkProof,
  makeProof,
  type Proof,
  type ProofFault,
  type ProofReading,
  proofFaults,
  proofSchema,
} from "./proof.ts";
export { type ProofHindrance, type Proven, proofHindrances, proveRow } from "./prove.ts";
export { type RecordReader, readLastBatch } from "./record-reader.ts";
export {
  type Comparison,
  compareRows,
  entriesOf,
  type TamperedRow,
  type Tampering,
  tamperings,
} from "./rows.ts";
export { connectionSettings, countQuery, type Query, type RowsAsked, rowsQuery } from "./rows-query.ts";
export {
  perSource,
  type Range,
  type ReadSeal,
  readSeal,
  type Seal,
  type Sealed,
  type Sealing,
  sealHash,
  sealType,
  signSeal,
} from "./seal.ts";
export { columnsOf, currentFormat, type Source, type SourceFacts, sourceFacts, sources } from "./sources.ts";
