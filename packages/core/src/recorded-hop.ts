import { splitDataClasses } from "./data-class.ts";
import type { DecisionRecord } from "./decision-record.ts";
import type { HopRequest } from "./hop.ts";

type RecordedRequest = Pick<DecisionRecord, "hop" | "chain" | "target" | "targetKind" | "dataClass" | "taint">;

/** The request of a recorded decision, to decide it again. Its marks and its own `taint` are in the taint of the record. */
export const recordedHop = (record: RecordedRequest, narrowedTo: readonly string[] | undefined): HopRequest => ({
  hop: record.hop,
  chain: record.chain,
  target: record.target,
  targetKind: record.targetKind,
  dataClass: record.dataClass,
  narrowedTo,
  tokenTaint: record.taint,
  declaredTaint: undefined,
});

/** From where in the chains a recorded call was made. */
export interface RecordedPlace extends Pick<DecisionRecord, "hop" | "chain" | "taint"> {
  /** The data classes of the parent's record; null at hop 1, and without that record. */
  readonly narrowedTo: string | null;
}

/**
 * What the presented token was narrowed to: the data classes of its own action, undefined for a root grant. Nothing lies
 * within an unknown narrowing, so a call of which the parent's record is missing is not admitted.
 */
export function recordedNarrowing({ hop, narrowedTo }: Pick<RecordedPlace, "hop" | "narrowedTo">) {
  if (hop === 1) return undefined;
  return narrowedTo === null ? [] : splitDataClasses(narrowedTo);
}
