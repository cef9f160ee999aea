import { proveRow, type RecordReader, type Row } from "@svc/seals";
import type { AuditReads } from "../ports/audit-reads.ts";
import type { Pool, Transaction } from "./database.ts";
import { readAsSealed } from "./seals/batch.ts";

export const proofReads = (pool: Pool): Pick<AuditReads, "prove"> => ({
  prove: (sources, id) =>
    pool.transaction(async (tx) => {
      await readAsSealed(tx);
      const proven = [];
      for (const source of sources) proven.push(await proveRow(readerOf(tx), source, id));
      return proven;
    }),
});

const readerOf = (tx: Transaction): RecordReader => ({
  query: ({ text, values }) => tx.unsafe<Row[]>(text, [...values], { prepare: true }),
});
