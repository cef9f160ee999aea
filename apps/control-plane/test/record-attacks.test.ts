import { readFileSync } from "node:fs";
import { type FindingKind, perSource, readSeal, sealHash, signSeal } from "@svc/seals";
import type { SigningKey } from "@svc/tokens";
import postgres from "postgres";
import { uuidv7 } from "uuidv7";
import { afterAll, describe, expect, test } from "vitest";
import { connect, type Transaction } from "../src/postgres/database.ts";
import { sealNextBatch } from "../src/postgres/seals/batch.ts";
import { readHead } from "../src/postgres/seals/head.ts";
import { firstIdAt } from "../src/postgres/time-ordered-ids.ts";
import { recorder } from "./decision-rows.ts";
import { aKey, auditConnection, examine, marks, sealEverything, sealer } from "./sealing.ts";
import { startPlane } from "./support.ts";

/** Attacks on the record, by each role that can write to the database, as `svc audit verify` finds them. */
const roles = ["service", "owner", "superuser"] as const;
type Role = (typeof roles)[number];

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

/** `key` is published. `old` was, and sealed the first batches. */
const [old, key, stranger] = await Promise.all([aKey(), aKey(), aKey()]);

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
await sealEverything(sealer(service, () => old));
const first = await action();
const second = await action();
await renew(new Date());
await sealEverything(sealer(service, () => old));
for (let n = 0; n < 2; n++) {
  await action();
  await sealEverything(sealer(service, () => key));
}
const unsealed = await action();
const month = new Date().toISOString().slice(0, 7);
const thisMonth = `decision_${month.replace("-", "_")}`;
const [newest] = await sql<{ batch: number; statement: string }[]>`
  select batch::int, statement from seal order by batch desc limit 1`;
const last = newest?.batch ?? 0;
const lastStatement = newest?.statement ?? "";
const heads = [{ batch: last, hash: sealHash(lastStatement) }];

type Tx = postgres.TransactionSql;
/** A statement, or anything else that is done in the attacker's transaction. */
type Step = string | ((tx: Tx) => Promise<unknown>);

/** What the attacker may do to an unsealed row, and how: the triggers are off meanwhile. */
const unprotected = (table: string, ...statements: readonly string[]): readonly string[] => [
  `alter table ${table} disable trigger user`,
  ...statements,
  `alter table ${table} enable always trigger append_only`,
  `alter table ${table} enable always trigger append_only_whole`,
];
/** The control plane seals what is there. */
const sealNext =
  (by: SigningKey = key) =>
  async (given: Tx) => {
    const tx = given as unknown as Transaction;
    const found = await readHead(tx, { authenticity: marks, keys: () => new Map() });
    const limits = { settledMs: perSource(() => Date.now() + 1), maxRows: 2_000 };
    await sealNextBatch(tx, { ...found, ...limits, key: by, authenticity: marks });
  };
const retired = (of: string, atMs = Date.now()): readonly Step[] => [
  `insert into retired_month (month) values ('${of}-01')`,
  `insert into administrative_event (event_id, kind, ts, actor, details)
    values ('${firstIdAt(atMs).slice(0, 13)}${uuidv7().slice(13)}', 'records_retired', now(), 'retention', '{"month": "${of}"}')`,
];
const isOver = (column: string): string => `${column} < '01800000-0000-7000-8000-000000000000'`;
const spendsOver = `delete from spend where ${isOver("coalesce(action_id, renewal_id)")}`;
const mintsOver = `delete from mint where ${isOver("action_id")}`;
const wholeMonthGone = [
  "drop table decision_2020_02",
  ...unprotected("spend", spendsOver),
  ...unprotected("mint", mintsOver),
];

/** The chain from `batch` on, made again by a key that the attacker has. */
const resealedBy =
  (by: SigningKey): Step =>
  async (tx) => {
    for (const statement of unprotected("seal", `delete from seal where batch >= ${last}`)) await tx.unsafe(statement);
    await sealNext(by)(tx);
  };
const sealRow = (batch: string, statement: string): Step =>
  `insert into seal (batch, statement, entries) values (${batch}, ${statement}, '')`;
/** Well-formed and chained, by a key of the attacker's. */
const aForgedSeal: Step = async (tx) => {
  const ranges = readSeal(lastStatement)?.seal.ranges;
  const { statement } = await signSeal({
    key: stranger,
    batch: last + 1,
    previous: lastStatement,
    sealedAtMs: Date.now(),
    ranges: perSource((source) => ({ after: ranges?.[source].through ?? null, through: uuidv7() })),
    entries: [],
    isNewKey: true,
  });
  await tx`insert into seal (batch, statement, entries) values (${last + 1}, ${statement}, '')`;
};

type Outcome =
  /** The database refuses it. */
  | "refused"
  /** What `svc audit verify` finds. */
  | readonly FindingKind[]
  /** The words of THREATS.md that say why it is not found. */
  | { readonly outOfReach: string }
  /** The month that the verification names as not provable yet: it does not say that the record is intact. */
  | { readonly notProvableYet: string };

interface Attack {
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

const lastMinutes = { outOfReach: "A row that is changed before it is sealed is sealed as changed" };
const wholeMonth = { outOfReach: "A whole month that was over" };

const attacks: readonly Attack[] = [
  {
    name: "delete a sealed row",
    steps: unprotected("mint", `delete from mint where action_id = '${first}'`),
    service: "refused",
    owner: ["row_removed"],
  },
  {
    name: "delete a sealed event",
    steps: unprotected("administrative_event", "delete from administrative_event"),
    service: "refused",
    owner: ["row_removed"],
  },
  {
    name: "delete a row before it is sealed",
    steps: unprotected("mint", `delete from mint where action_id = '${unsealed}'`),
    service: "refused",
    owner: lastMinutes,
  },
  {
    name: "alter a sealed row",
    steps: unprotected("mint", `update mint set params_hash = 'x' where action_id = '${first}'`),
    service: "refused",
    owner: ["row_changed"],
  },
  {
    name: "insert a row among sealed ones",
    steps: [
      `insert into mint (action_id, session_id, params_hash, minted_at)
        values ('${first.slice(0, 24)}000000000000', gen_random_uuid(), 'x', now())`,
    ],
    service: ["row_inserted"],
    owner: ["row_inserted"],
  },
  {
    name: "insert a row of the future, which would never be sealed",
    steps: [
      `insert into mint (action_id, session_id, params_hash, minted_at)
        values ('ffffffff-0000-7000-8000-000000000000', gen_random_uuid(), 'x', now())`,
    ],
    service: ["row_from_future"],
    owner: ["row_from_future"],
  },
  {
    name: "re-order sealed rows",
    steps: [
      ...unprotected(
        "decision",
        "alter table decision alter column seq set generated by default",
        `update decision set seq = -seq where action_id in ('${first}', '${second}')`,
        "alter table decision alter column seq set generated always",
      ),
    ],
    service: "refused",
    owner: ["row_changed"],
  },
  {
    name: "restart the order of the log",
    steps: ["alter table decision alter column seq restart with 1"],
    service: "refused",
    owner: { outOfReach: "The order of new rows" },
  },
  {
    name: "truncate a table",
    steps: unprotected("mint", "truncate mint"),
    service: "refused",
    owner: ["row_removed"],
  },
  {
    name: "drop a month",
    steps: ["drop table decision_2020_02"],
    service: "refused",
    owner: ["row_removed"],
  },
  {
    name: "detach a month",
    steps: [`alter table decision detach partition ${thisMonth}`],
    service: "refused",
    owner: ["partition_detached", "row_removed"],
  },
  {
    name: "attach a partition of another kind",
    steps: [
      "create table other_decisions (like decision including defaults including constraints)",
      "alter table decision attach partition other_decisions for values from ('f0000000-0000-7000-8000-000000000000') to ('f1000000-0000-7000-8000-000000000000')",
    ],
    service: "refused",
    owner: ["partition_foreign", "protection_off"],
    superuser: ["partition_foreign", "protection_off", "table_owner"],
  },
  {
    name: "hide rows by row-level security",
    steps: [
      `alter table ${thisMonth} enable row level security`,
      "alter table decision enable row level security",
      `create policy hidden on decision using (action_id <> '${first}')`,
    ],
    service: "refused",
    owner: ["row_security"],
  },
  {
    name: "prepare a policy of row-level security",
    steps: [`create policy hidden on spend using (action_id <> '${first}')`],
    service: "refused",
    owner: ["row_security"],
  },
  {
    name: "swallow inserts by a rule",
    steps: ["create rule swallowed as on insert to mint do instead nothing"],
    service: "refused",
    owner: ["rule"],
  },
  {
    name: "put a view in a table's place",
    steps: [
      "alter table mint rename to minted",
      `create view mint as select * from minted where action_id <> '${first}'`,
    ],
    service: "refused",
    owner: ["table_replaced", "protection_off", "row_removed"],
    superuser: ["table_replaced", "protection_off", "row_removed", "table_owner"],
  },
  {
    name: "swallow inserts by a trigger",
    steps: [
      "create function swallow() returns trigger language plpgsql as 'begin return null; end'",
      "create trigger a before insert on mint for each row execute function swallow()",
    ],
    service: "refused",
    owner: ["trigger_foreign"],
  },
  {
    name: "swallow inserts into a month by a trigger",
    steps: [
      "create function swallow() returns trigger language plpgsql as 'begin return null; end'",
      `create trigger a before insert on ${thisMonth} for each row execute function swallow()`,
    ],
    service: "refused",
    owner: ["trigger_foreign"],
  },
  {
    name: "turn a protecting trigger off",
    steps: ["alter table mint disable trigger append_only"],
    service: "refused",
    owner: ["protection_off"],
  },
  {
    name: "turn a protecting trigger of a month off",
    steps: [`alter table ${thisMonth} disable trigger user`],
    service: "refused",
    owner: ["protection_off"],
  },
  {
    name: "let a protecting trigger act only for a condition",
    steps: [
      "create or replace trigger append_only before update or delete on mint for each row when (false) execute function refuse_change()",
      "alter table mint enable always trigger append_only",
    ],
    service: "refused",
    owner: ["protection_off"],
  },
  {
    name: "replace what a protecting trigger does",
    steps: ["create or replace function refuse_change() returns trigger language plpgsql as 'begin return old; end'"],
    service: "refused",
    owner: ["protection_changed"],
  },
  {
    name: "let a table forget its rows in a crash",
    steps: ["alter table mint set unlogged"],
    service: "refused",
    owner: ["table_replaced"],
  },
  {
    name: "give a table to the service's role",
    steps: [`alter table mint owner to ${new URL(plane.database.appUrl).username}`],
    service: "refused",
    // It would have to be a member of the service's role.
    owner: "refused",
    superuser: ["table_owner"],
  },
  {
    name: "declare the running month retired, and delete sealed rows of it",
    steps: [...retired(month), sealNext(), ...unprotected("mint", `delete from mint where action_id = '${first}'`)],
    service: "refused",
    owner: "refused",
  },
  {
    name: "declare the running month retired without the constraint, and delete sealed rows of it",
    steps: [
      "alter table retired_month drop constraint if exists only_months_that_are_over",
      ...retired(month),
      sealNext(),
      ...unprotected("mint", `delete from mint where action_id = '${first}'`),
    ],
    service: "refused",
    owner: ["retirement_early", "row_removed"],
  },
  {
    name: "declare a month retired without an event, and delete it",
    steps: [`insert into retired_month (month) values ('2020-02-01')`, ...wholeMonthGone],
    service: "refused",
    owner: ["retirement_unrecorded", "row_removed"],
  },
  {
    name: "declare a month retired that is over, and delete some rows of it",
    steps: [...retired("2020-02"), sealNext(), ...unprotected("mint", mintsOver)],
    service: "refused",
    owner: ["retirement_partial", "row_removed"],
  },
  {
    name: "declare a month retired that is over, and delete it before the event is sealed",
    steps: [...retired("2020-02"), ...wholeMonthGone],
    service: "refused",
    owner: { notProvableYet: "2020-02" },
  },
  {
    name: "declare a month retired that is over, and delete it, by an event that is not sealed in an hour",
    steps: [...retired("2020-02"), ...wholeMonthGone],
    service: "refused",
    owner: ["retirement_unsealed", "unsealed_too_long"],
    verifiedAfterMs: 3_601_000,
  },
  {
    name: "declare a month retired that is over, and delete it, by an event of the future",
    steps: [...retired("2020-02", Date.now() + 7_200_000), ...wholeMonthGone],
    service: "refused",
    owner: ["retirement_unsealed"],
  },
  {
    name: "declare a month retired that is over, and delete some rows of it before the event is sealed",
    steps: [...retired("2020-02"), ...unprotected("mint", mintsOver)],
    service: "refused",
    owner: ["retirement_partial", "row_removed"],
  },
  {
    name: "declare a month retired that is over, and delete all of it",
    steps: [...retired("2020-02"), sealNext(), ...wholeMonthGone],
    service: "refused",
    owner: wholeMonth,
  },
  {
    name: "insert a seal that is none",
    steps: [sealRow(`${last + 1}`, "'x.y.z'"), sealNext()],
    service: ["seal_unreadable"],
    owner: ["seal_unreadable"],
  },
  {
    name: "insert a seal of a number that none can follow",
    steps: [sealRow("9223372036854775807", "'x.y.z'"), sealNext()],
    service: ["seal_unreadable"],
    owner: ["seal_unreadable"],
  },
  {
    name: "insert a copy of a seal",
    steps: [sealRow("1000", `'${lastStatement}'`), sealNext()],
    service: ["seal_unreadable"],
    owner: ["seal_unreadable"],
  },
  {
    name: "insert a seal by a key of the attacker's, which hides later rows",
    steps: [aForgedSeal, sealNext()],
    service: ["row_inserted", "seal_stray"],
    owner: ["row_inserted", "seal_stray"],
  },
  {
    name: "remove the newest seals",
    steps: unprotected("seal", `delete from seal where batch >= ${last}`),
    service: "refused",
    owner: { outOfReach: "only a seal that was kept elsewhere shows it" },
  },
  {
    name: "remove the newest seals, of which the auditor kept one",
    steps: unprotected("seal", `delete from seal where batch >= ${last}`),
    service: "refused",
    owner: ["head_missing"],
    keepsHeads: true,
  },
  {
    name: "rewrite the end of the record, and seal it with an old key",
    steps: [...unprotected("mint", `delete from mint where action_id = '${unsealed}'`), resealedBy(old)],
    service: "refused",
    owner: ["not_vouched"],
  },
  {
    name: "rewrite the end of the record, and seal it with a published key",
    steps: [resealedBy(key)],
    service: "refused",
    owner: { outOfReach: "the signing key can make the record and its seals anew" },
  },
];

const undo = new Error("undo");

interface Verified {
  /** Each once. */
  readonly kinds: readonly FindingKind[];
  readonly notProvableYet: readonly string[];
}

/** What a verification shows after the steps; undone. */
async function outcomeOf(
  role: Role,
  { steps, keepsHeads, verifiedAfterMs = 0 }: Attack,
): Promise<"refused" | Verified> {
  let verified: Verified | undefined;
  const done = connections[role].begin(async (tx) => {
    for (const step of steps) await (typeof step === "string" ? tx.unsafe(step) : step(tx));
    const nowMs = Date.now() + verifiedAfterMs;
    const { findings, retired } = await examine(tx, [key], keepsHeads ? { heads, nowMs } : { nowMs });
    const kinds = [...new Set(findings.map(({ kind }) => kind))].toSorted();
    verified = { kinds, notProvableYet: retired.notProvableYet.map(({ month }) => month) };
    throw undo;
  });
  return done.catch((error: unknown) => {
    if (error === undo && verified !== undefined) return verified;
    if (error instanceof postgres.PostgresError && refusals.includes(error.code)) return "refused";
    throw error;
  });
}

/** `insufficient_privilege`, `check_violation`. */
const refusals = ["42501", "23514"];

const threats = readFileSync(new URL("../../../THREATS.md", import.meta.url), "utf8").replaceAll(/\s+/g, " ");

function expectedFrom(outcome: Outcome): "refused" | Verified {
  if (outcome === "refused") return outcome;
  if ("length" in outcome) return { kinds: outcome.toSorted(), notProvableYet: [] };
  return { kinds: [], notProvableYet: "notProvableYet" in outcome ? [outcome.notProvableYet] : [] };
}

describe("the record after an attack", () => {
  test("is intact before any", async () => {
    expect((await examine(connections.superuser, [key])).findings).toEqual([]);
  });

  describe.each(roles)("by the %s", (role) => {
    test.each(attacks)("to $name", async (attack) => {
      const expected = role === "superuser" ? (attack.superuser ?? attack.owner) : attack[role];
      expect(await outcomeOf(role, attack)).toEqual(expectedFrom(expected));
      if (typeof expected === "object" && "outOfReach" in expected) expect(threats).toContain(expected.outOfReach);
    });
  });
});
