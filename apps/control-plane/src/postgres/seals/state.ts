import { readSeal } from "@svc/seals";
import type { AuditReads } from "../../ports/audit-reads.ts";
import type { Pool } from "../database.ts";

export const sealReads = ({ rows }: Pool): Pick<AuditReads, "sealState"> => ({
  async sealState(most) {
    const [row] = await rows<{ statement: string }>`select statement from seal order by batch desc limit 1`;
    const seal = row && readSeal(row.statement)?.seal;
    const through = seal?.ranges.decision.through ?? "00000000-0000-0000-0000-000000000000";
    const [unsealed] = await rows<{ count: number }>`
      select count(*)::int as count from (
        select from decision where action_id > ${through} limit (select ${most}::bigint)
      ) later`;
    return { sealedAtMs: seal?.sealedAtMs ?? null, unsealed: unsealed?.count ?? 0 };
  },
});
