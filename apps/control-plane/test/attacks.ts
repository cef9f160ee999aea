import { readFileSync } from "node:fs";
import { type FindingKind, perSource, sealHash } from "@svc/seals";
import type { SigningKey } from "@svc/tokens";
import postgres from "postgres";
import { afterAll, expect } from "vitest";
import { connect, type Transaction } from "../src/postgres/database.ts";
import { sealNextBatch } from "../src/postgres/seals/batch.ts";
import { readHead } from "../src/postgres/seals/head.ts";
import { recorder } from "./decision-rows.ts";
import { aKey, auditConnection, examine, marks, sealEverything, sealer } from "./sealing.ts";
import { startPlane } from "./support.ts";

/** Those that can write to the database. */
export const roles = ["service", "owner", "superuser"] as const;
export type Role = (typeof roles)[number];

type Tx = postgres.TransactionSql;
/** A statement, or anything else that is done in the attacker's transaction. */
export type Step = string | ((tx: Tx) => Promise<unknown>);

type Outcome =
  /** The database refuses it. */
  | "refused"
  /** What `svc audit verify` finds. */
  | readonly FindingKind[]
  /** The words of THREATS.md that say why it is not found. */
  | { readonly outOfReach: string }
  /** The month that the verification names as not provable yet: it does not say that the record is intact. */
  | { readonly notProvableYet: string }
  /** Nothing is found, and the service does not act on it: fails where it does. */
  | { readonly unused: (tx: Transaction) => Promise<void> };

export interface Attack {
  readonly name: string;
  readonly steps: readonly Step[];
  readonly service: Outcome;
  readonly owner: Outcome;
  /** Default: as for the owner. */
  readonly superuser?: Outcome;
  /** Whether the auditor kept the newest seal elsewhere. */
  readonly keepsHeads?: boolean;
  /** How much later the auditor verifies. */
  readonly verifiedAfterMs?: number;
}

/**
 * A record whose newest row is not sealed yet. `key` is published; `old` was, and sealed the first batches. February
 * 2020 is a month that is over.
 */
export async function attackedRecord() {
  const plane = await startPlane();
  const { sql, record, spend, mint, renew } = await recorder(plane);
  const connections: Readonly<Record<Role, ReturnType<typeof postgres>>> = {
    service: auditConnection(plane.database.appUrl),
    owner: auditConnection(plane.database.ownerUrl),
    superuser: auditConnection(plane.database.superuserUrl),
  };
  const service = connect({ url: plane.database.appUrl, maxConnections: 2, statementTimeoutMs: 5_000 });
  afterAll(async () => {
    await Promise.all([sql.end(), service.end(), ...Object.values(connections).map((each) => each.end())]);
    await plane.stop();
  });
  const [old, key] = await Promise.all([aKey(), aKey()]);
  const sealedBy = (by: SigningKey) => sealEverything(sealer(service, () => by));

  async function action(changes: Record<string, unknown> = {}): Promise<string> {
    const { action_id: id } = await record({ privileged: true, ...changes });
    await spend(id);
    await mint(id);
    return id;
  }

  const overAt = new Date("2020-02-15T00:00:00Z");
  await connections.owner`select make_decision_partition('2020-02-01'::date)`;
  await action({ decided_at: overAt });
  await action({ decided_at: overAt });
  await renew(overAt);
  await sealedBy(old);
  const first = await action();
  const second = await action();
  await renew(new Date());
  await sealedBy(old);
  for (let n = 0; n < 2; n++) {
    await action();
    await sealedBy(key);
  }
  const unsealed = await action();
  const [newest] = await sql<{ batch: number; statement: string }[]>`
    select batch::int, statement from seal order by batch desc limit 1`;
  if (newest === undefined) throw new Error("nothing was sealed");
  return {
    serviceRole: new URL(plane.database.appUrl).username,
    connections,
    old,
    key,
    actions: { first, second, unsealed },
    newest,
    /** The running one, `YYYY-MM`. */
    month: new Date().toISOString().slice(0, 7),
  };
}
export type AttackedRecord = Awaited<ReturnType<typeof attackedRecord>>;

/** What the attacker may do to an unsealed row, and how: the triggers are off meanwhile. */
export const unprotected = (table: string, ...statements: readonly string[]): readonly string[] => [
  `alter table ${table} disable trigger user`,
  ...statements,
  `alter table ${table} enable always trigger append_only`,
  `alter table ${table} enable always trigger append_only_whole`,
];

/** The control plane seals what is there. */
export const sealNext =
  (by: SigningKey) =>
  async (given: Tx): Promise<void> => {
    const tx = given as unknown as Transaction;
    const found = await readHead(tx, { authenticity: marks, keys: () => new Map() });
    const limits = { settledMs: perSource(() => Date.now() + 1), maxRows: 2_000 };
    await sealNextBatch(tx, { ...found, ...limits, key: by, authenticity: marks });
  };

const undo = new Error("undo");

interface Shown {
  /** Each once. */
  readonly kinds: readonly FindingKind[];
  readonly notProvableYet: readonly string[];
}

/** What a verification shows after the steps, and what the service does; undone. */
async function outcomeOf(
  { connections, key, newest }: AttackedRecord,
  role: Role,
  { steps, keepsHeads, verifiedAfterMs = 0 }: Attack,
  expected: Outcome,
): Promise<"refused" | Shown> {
  let shown: Shown | undefined;
  const heads = keepsHeads ? [{ batch: newest.batch, hash: sealHash(newest.statement) }] : [];
  const done = connections[role].begin(async (tx) => {
    for (const step of steps) await (typeof step === "string" ? tx.unsafe(step) : step(tx));
    const { findings, retired } = await examine(tx, [key], { heads, nowMs: Date.now() + verifiedAfterMs });
    const kinds = [...new Set(findings.map(({ kind }) => kind))].toSorted();
    shown = { kinds, notProvableYet: retired.notProvableYet.map(({ month }) => month) };
    if (typeof expected === "object" && "unused" in expected) await expected.unused(tx as unknown as Transaction);
    throw undo;
  });
  return done.catch((error: unknown) => {
    if (error === undo && shown !== undefined) return shown;
    if (error instanceof postgres.PostgresError && refusals.includes(error.code)) return "refused";
    throw error;
  });
}

/** `insufficient_privilege`, `check_violation`. */
const refusals = ["42501", "23514"];

function expectedFrom(outcome: Outcome): "refused" | Shown {
  if (outcome === "refused") return outcome;
  if ("length" in outcome) return { kinds: outcome.toSorted(), notProvableYet: [] };
  return { kinds: [], notProvableYet: "notProvableYet" in outcome ? [outcome.notProvableYet] : [] };
}

const threats = readFileSync(new URL("../../../THREATS.md", import.meta.url), "utf8").replaceAll(/\s+/g, " ");

export async function expectOutcome(record: AttackedRecord, role: Role, attack: Attack): Promise<void> {
  const expected = role === "superuser" ? (attack.superuser ?? attack.owner) : attack[role];
  expect(await outcomeOf(record, role, attack, expected)).toEqual(expectedFrom(expected));
  if (typeof expected === "object" && "outOfReach" in expected) expect(threats).toContain(expected.outOfReach);
}
