import type { DecisionRecord } from "@svc/core";
import { iso } from "../http/times.ts";
import type { DecisionRow } from "../ports/decision-log.ts";

/** A decision as the chain shows it (docs/reference/record.md#chain-reads). */
export const toChainHop = (record: DecisionRecord) => ({ ...record, ts: iso(record.decidedAtMs) });

/** A decision as the history shows it (docs/reference/record.md#decision-rows). */
export const toDecisionRow = ({ record, spentAtMs, paramsHash }: DecisionRow) => ({
  ...toChainHop(record),
  spentAt: spentAtMs === null ? null : iso(spentAtMs),
  paramsHash,
});
