import {
  connectionSettings,
  type Examination,
  type Examined,
  examineRecord,
  type Finding,
  perSource,
  type RecordReader,
  type Row,
} from "@svc/seals";
import { waitUntil } from "@svc/test-support";
import { generatePrivateJwk, importIssuerKey, type SigningKey, verificationKeyOf } from "@svc/tokens";
import postgres from "postgres";
import { uuidv7 } from "uuidv7";
import type { RecordSeals } from "../src/ports/record-seals.ts";
import { authenticity } from "../src/postgres/authenticity.ts";
import { poolOf, type Sql } from "../src/postgres/database.ts";
import type { SealProof } from "../src/postgres/seals/head.ts";
import { recordSeals } from "../src/postgres/seals/record-seals.ts";

export const aKey = async (): Promise<SigningKey> => importIssuerKey(await generatePrivateJwk());

/** As the control plane marks what it stored. */
export const marks = authenticity(new Uint8Array(32).fill(7));

export interface SealerOptions {
  /** Default: what the marks of {@link marks} prove. */
  readonly proof?: SealProof;
  readonly maxRows?: number;
  /** Default: none, so that what is committed is sealed at once. */
  readonly settleMs?: number;
}

export const sealer = (
  sql: Sql,
  key: () => SigningKey,
  { settleMs = 0, ...options }: SealerOptions = {},
): RecordSeals =>
  recordSeals({
    pool: poolOf(sql, 5_000),
    signingKey: async () => key(),
    settleMs: perSource(() => settleMs),
    proof: { authenticity: marks, keys: () => new Map() },
    ...options,
  });

/** Identifiers of this very millisecond are sealed in the next one. */
export const sealEverything = (seals: RecordSeals): Promise<unknown> =>
  waitUntil("everything to be sealed", async () => {
    await seals.seal();
    return (await seals.oldestUnsealedMs()) === null;
  });

/** An administrator's connection that writes values as leaves have them. */
export const auditConnection = (url: string) =>
  postgres(url, { max: 1, onnotice: () => {}, connection: { ...connectionSettings } });

type Querying = Pick<ReturnType<typeof postgres>, "unsafe">;
export const readerOf = (sql: Querying): RecordReader => ({
  query: ({ text, values }) => sql.unsafe<Row[]>(text, values),
});

export interface Report extends Examined {
  readonly findings: readonly Finding[];
}

export async function examine(
  sql: Querying,
  keys: readonly SigningKey[],
  more: Partial<Examination> = {},
): Promise<Report> {
  const verifying = await Promise.all(keys.map(verificationKeyOf));
  const examination = examineRecord({
    reader: readerOf(sql),
    keys: new Map(verifying.map((key) => [key.kid, key])),
    heads: [],
    nowMs: Date.now(),
    maxUnsealedMs: 3_600_000,
    ...more,
  });
  const findings: Finding[] = [];
  for (;;) {
    const { done, value } = await examination.next();
    if (done) return { ...value, findings };
    findings.push(value);
  }
}

/** Does something to the database, examines it as it then is, and undoes it. */
export async function examineAfter(
  sql: ReturnType<typeof postgres>,
  keys: readonly SigningKey[],
  statements: readonly string[],
  more: Partial<Examination> = {},
): Promise<Report> {
  let report: Report | undefined;
  const undo = new Error("undo");
  const done = sql.begin(async (tx) => {
    for (const statement of statements) await tx.unsafe(statement);
    report = await examine(tx, keys, more);
    throw undo;
  });
  await done.catch((error: unknown) => {
    if (error !== undo) throw error;
  });
  if (report === undefined) throw new Error("nothing was examined");
  return report;
}

/** An event in a transaction that stays open until `commit`. */
export async function openEvent(url: string): Promise<{ readonly eventId: string; commit(): Promise<void> }> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const [written, mayCommit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const eventId = uuidv7();
  const open = sql.begin(async (tx) => {
    await tx`insert into administrative_event (event_id, kind, ts, actor) values (${eventId}, 'block_set', now(), 'a')`;
    written.resolve();
    await mayCommit.promise;
  });
  await written.promise;
  return {
    eventId,
    async commit() {
      mayCommit.resolve();
      await open;
      await sql.end();
    },
  };
}
