import postgres from "postgres";
import { uuidv7 } from "uuidv7";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, poolOf } from "../src/postgres/database.ts";
import { decisionLog, decisionReads } from "../src/postgres/decisions.ts";
import { insertExchanges, spendLedger } from "../src/postgres/spends.ts";
import { recorder } from "./decision-rows.ts";
import { query, startPlane } from "./support.ts";

const plane = await startPlane();
const { sql, sessionId, record, spend } = await recorder(plane);
afterAll(async () => {
  await sql.end();
  await plane.stop();
});

const partitionOf = async (actionId: string): Promise<string> => {
  const [row] = await sql<{ partition: string }[]>`
    select tableoid::regclass::text as partition from decision where action_id = ${actionId}`;
  return row?.partition ?? "";
};
const monthOf = (date: Date): string => `decision_${date.toISOString().slice(0, 7).replace("-", "_")}`;

describe("a decision is stored", () => {
  test("in the month of its identifier", async () => {
    const { action_id: id, decided_at: at } = await record();
    expect(await partitionOf(id)).toBe(monthOf(at));
  });

  test("in the default partition where its month has none", async () => {
    expect(await partitionOf((await record({ decided_at: new Date("2020-02-29T12:00:00Z") })).action_id)).toBe(
      "decision_default",
    );
    expect(await partitionOf((await record({ action_id: crypto.randomUUID() })).action_id)).toBe("decision_default");
  });

  test("in the right month to the millisecond", async () => {
    const [month] = await query<{ month: string; next: string }>(
      plane.database.ownerUrl,
      "select this_month()::text as month, months_after(this_month(), 1)::text as next",
    );
    const start = new Date(`${month?.next}T00:00:00Z`);
    const last = new Date(start.getTime() - 1);
    expect(await partitionOf((await record({ decided_at: last })).action_id)).toBe(monthOf(last));
    expect(await partitionOf((await record({ decided_at: start })).action_id)).toBe(monthOf(start));
  });
});

describe("each partition is append-only", () => {
  const statements = (partition: string) => [
    `update ${partition} set target = 'x'`,
    `delete from ${partition}`,
    `truncate ${partition}`,
  ];
  const cases = [monthOf(new Date()), "decision_default"].flatMap(statements);
  beforeAll(async () => {
    await record();
    await record({ action_id: crypto.randomUUID() });
  });

  test.each(cases)("the service cannot: %s", async (statement) => {
    await expect(query(plane.database.appUrl, statement)).rejects.toThrow(/permission denied/);
  });

  test.each(cases)("the owner cannot: %s", async (statement) => {
    await expect(query(plane.database.ownerUrl, statement)).rejects.toThrow(/append-only/);
  });

  test.each(cases)("a replication role, which skips ordinary triggers, cannot: %s", async (statement) => {
    const superuser = postgres(plane.database.superuserUrl, { max: 1, onnotice: () => {} });
    try {
      await superuser`set session_replication_role = replica`;
      await expect(superuser.unsafe(statement)).rejects.toThrow(/append-only/);
    } finally {
      await superuser.end();
    }
  });
});

interface Plan {
  readonly "Relation Name"?: string;
  readonly "Actual Loops": number;
  readonly Plans?: readonly Plan[];
}

const nodesOf = (plan: Plan): readonly Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
const partitionsAmong = (nodes: readonly Plan[]): ReadonlySet<string> =>
  new Set(nodes.flatMap(({ "Relation Name": name }) => (name?.startsWith("decision_") ? [name] : [])));
/** Those that the server got ready to look into, and those that it did. */
const partitionsOpened = (plan: Plan) => partitionsAmong(nodesOf(plan));
const partitionsRead = (plan: Plan) => partitionsAmong(nodesOf(plan).filter((node) => node["Actual Loops"] > 0));

const literal = (value: unknown): string => {
  if (value === null) return "null";
  if (value instanceof Uint8Array) return `'\\x${Buffer.from(value).toString("hex")}'`;
  return `'${value instanceof Date ? value.toISOString() : String(value)}'`;
};

describe("a lookup by action reads one partition", () => {
  const jtiHash = () => Buffer.from(crypto.randomUUID());
  const epochs = async () => {
    const [row] = await sql<{ session: string; denials: string }[]>`
      select s.epoch as session, d.epoch as denials from session_state s cross join denial_epoch d
      where s.session_id = ${sessionId}`;
    return row ?? { session: "", denials: "" };
  };
  const mint = { sessionId, paramsHash: "hash", prover: undefined, mintedAtMs: Date.now() };
  type Ports = {
    log: ReturnType<typeof decisionLog>;
    decisions: ReturnType<typeof decisionReads>;
    spends: ReturnType<typeof spendLedger>;
  };

  const lookUps: readonly [string, (ports: Ports, actionId: string) => Promise<unknown>][] = [
    ["to find it", ({ log }, id) => log.find(id)],
    ["to walk its chain", ({ decisions }, id) => decisions.lineage(id)],
    [
      "to spend it",
      async ({ spends }, actionId) => {
        const facts = { actionId, jtiHash: jtiHash(), sessionId, prover: undefined, spentAtMs: Date.now() };
        return spends.spend({ kind: "exchange", ...facts }, { kind: "none" }, await epochs());
      },
    ],
    [
      "to mint for it",
      async ({ spends }, actionId) => {
        await spend(actionId);
        return spends.mint({ ...mint, actionId }, await epochs());
      },
    ],
  ];

  /** What the ports really send, with the values they send along. */
  async function statementsOf(lookUp: (typeof lookUps)[number][1], actionId: string) {
    const sent: { text: string; values: readonly unknown[] }[] = [];
    const watched = connect({ url: plane.database.appUrl, maxConnections: 1, statementTimeoutMs: 5_000 });
    watched.options.debug = (_connection, text, values) => void sent.push({ text, values });
    const pool = poolOf(watched, 5_000);
    try {
      await lookUp({ log: decisionLog(pool), decisions: decisionReads(pool), spends: spendLedger(pool) }, actionId);
    } finally {
      await watched.end();
    }
    return sent.filter(({ text }) => /\bdecision\b/.test(text));
  }

  async function planOf(text: string, values: readonly unknown[], mode: string): Promise<Plan> {
    const plans: Plan[] = [];
    const undone = sql.begin(async (tx) => {
      await tx.unsafe(`set local plan_cache_mode = ${mode}`);
      await tx.unsafe(`prepare looked_up as ${text}`);
      const [row] = await tx.unsafe(
        `explain (analyze, format json) execute looked_up(${values.map(literal).join(", ")})`,
      );
      plans.push(row?.["QUERY PLAN"][0].Plan);
      await tx`deallocate looked_up`;
      throw new Error("undo");
    });
    await expect(undone).rejects.toThrow("undo");
    const [plan] = plans;
    if (plan === undefined) throw new Error(`no plan of: ${text}`);
    return plan;
  }

  test.each(
    lookUps.flatMap(([why, lookUp]) =>
      ["force_custom_plan", "force_generic_plan"].map((mode) => [why, mode, lookUp] as const),
    ),
  )("%s, with %s", async (_why, mode, lookUp) => {
    const parent = await record({ action_id: uuidv7() });
    await spend(parent.action_id);
    const old = new Date("2020-02-29T12:00:00Z");
    const [here, there] = [
      await record({ privileged: true, parent_action_id: parent.action_id, hop: 2 }),
      await record({ decided_at: old, privileged: true }),
    ];
    for (const { action_id: id } of [here, there]) {
      const [statement, ...more] = await statementsOf(lookUp, id);
      expect(more).toEqual([]);
      const { text = "", values = [] } = statement ?? {};
      expect(partitionsRead(await planOf(text, values, mode))).toEqual(new Set([await partitionOf(id)]));
    }
  });

  test.each(lookUps.filter(([why]) => ["to find it", "to spend it"].includes(why)))(
    "%s, and opens no other, whatever the number of months",
    async (_why, lookUp) => {
      const { action_id: id } = await record();
      const [{ text = "", values = [] } = {}] = await statementsOf(lookUp, id);
      expect(partitionsOpened(await planOf(text, values, "force_generic_plan"))).toEqual(
        new Set([await partitionOf(id)]),
      );
    },
  );
});

test("allows of different months are spent together", async () => {
  const allows = [await record(), await record({ decided_at: new Date("2020-02-29T12:00:00Z") }), await record()];
  const epochs = await plane.deps.sessionState.read({ sessionId, agents: [], nowMs: Date.now() });
  const inserts = allows.map(({ action_id: actionId }) => ({
    spend: {
      kind: "exchange" as const,
      actionId,
      jtiHash: Buffer.from(crypto.randomUUID()),
      sessionId,
      prover: undefined,
      spentAtMs: Date.now(),
    },
    epochs: epochs?.epochs ?? { session: "", denials: "" },
  }));
  const service = connect({ url: plane.database.appUrl, maxConnections: 1, statementTimeoutMs: 5_000 });
  expect(await insertExchanges(service, inserts)).toEqual([true, true, true]);
  await service.end();
});
