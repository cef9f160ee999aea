import { type ReadSeal, readSeal, signatureFault } from "@svc/seals";
import { type KeyLookup, sha256Base64url } from "@svc/tokens";
import { SealsUnproven } from "../../ports/record-seals.ts";
import type { Authenticity } from "../authenticity.ts";
import type { Transaction } from "../database.ts";

/** By what a stored seal is known to be one that this service made. */
export interface SealProof {
  readonly authenticity: Authenticity;
  /** The issuer's keys of now. */
  readonly keys: () => KeyLookup;
}

export interface Head extends ReadSeal {
  readonly batch: number;
  readonly statement: string;
}

export interface ProvenHead {
  /** The newest proven seal; undefined where there is no seal at all. */
  readonly head: Head | undefined;
  /** Of the rows after it: none of them is a seal of this service. */
  readonly unproven: readonly number[];
}

const rowsAtOnce = 20;

/** @throws {SealsUnproven} if there are rows and none is proven: nothing may be chained to them */
export async function readHead(tx: Transaction, proof: SealProof): Promise<ProvenHead> {
  const unproven: number[] = [];
  let before: bigint | null = null;
  for (;;) {
    const rows: readonly SealRow[] = await tx<SealRow[]>`
      select batch, statement, mac from seal where ${before === null ? tx`true` : tx`batch < ${before}`}
      order by batch desc limit ${rowsAtOnce}`;
    for (const row of rows) {
      const read = await proven(tx, proof, row);
      if (read !== undefined)
        return { head: { ...read, batch: Number(row.batch), statement: row.statement }, unproven };
      unproven.push(Number(row.batch));
    }
    before = rows.at(-1)?.batch ?? before;
    if (rows.length < rowsAtOnce) break;
  }
  if (unproven.length > 0) throw new SealsUnproven(unproven);
  return { head: undefined, unproven };
}

/** The first proven seal after that number; undefined where there is none. */
export async function readNextSeal(tx: Transaction, proof: SealProof, after: number): Promise<ReadSeal | undefined> {
  for (let last = BigInt(after); ; ) {
    const rows: readonly SealRow[] = await tx<SealRow[]>`
      select batch, statement, mac from seal where batch > ${last} order by batch limit ${rowsAtOnce}`;
    for (const row of rows) {
      const read = await proven(tx, proof, row);
      if (read !== undefined) return read;
    }
    last = rows.at(-1)?.batch ?? last;
    if (rows.length < rowsAtOnce) return undefined;
  }
}

interface SealRow {
  readonly batch: bigint;
  readonly statement: string;
  readonly mac: string | null;
}

async function proven(tx: Transaction, { authenticity, keys }: SealProof, row: SealRow): Promise<ReadSeal | undefined> {
  const read = readSeal(row.statement);
  if (read === undefined || read.seal.batch !== Number(row.batch)) return undefined;
  const isOurs =
    authenticity.holds(row.mac, ["seal", row.statement]) ||
    (await signatureFault(read, row.statement, keys())) === undefined ||
    (await wasNewestBeforeMarks(tx, row));
  return isOurs ? read : undefined;
}

/** The newest seal at the migration that brought the marks: its key may be gone. Only the owner writes that list. */
async function wasNewestBeforeMarks(tx: Transaction, { batch, statement }: SealRow): Promise<boolean> {
  const found = await tx`
    select from unmarked where kind = 'seal' and version = ${batch} and document_hash = ${sha256Base64url(statement)}`;
  return found.count > 0;
}
