import { aManifest, aTool } from "@svc/test-support";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bounded, DatabaseUnavailable } from "../src/postgres/database.ts";
import { probeDatabase, RecordNotWritable } from "../src/postgres/health.ts";
import { type Answer, query, startPlane, tokens } from "./support.ts";

let plane: Awaited<ReturnType<typeof startPlane>>;
let planner: string;
beforeAll(async () => {
  plane = await startPlane();
  const tool = aTool("http:ledger/pay", { privileged: true, access: "write" });
  const manifest = aManifest("expenses", { hop_budget: 2, tools: [tool] });
  const { json } = await plane.send("/v1/agents", {
    body: { name: "planner", manifest, override: { reason: "by hand" } },
  });
  planner = String(json.agent_id);
});
afterAll(() => plane.stop());

const role = () => new URL(plane.database.appUrl).username;
const asSuperuser = (...statements: readonly string[]) => query(plane.database.superuserUrl, statements.join(";"));

interface Fault {
  readonly name: string;
  /** On a table. */
  readonly break: (table: string) => readonly string[];
  readonly repair: (table: string) => readonly string[];
}

const faults: readonly Fault[] = [
  {
    name: "is renamed",
    break: (table) => [`alter table ${table} rename to lost`],
    repair: (table) => [`alter table lost rename to ${table}`],
  },
  {
    name: "may not be inserted into",
    break: (table) => [`revoke insert on ${table} from "${role()}"`],
    repair: (table) => [`grant insert on ${table} to "${role()}"`],
  },
  {
    name: "has a trigger that fails",
    break: (table) => [
      "create function fail() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$",
      `create trigger failing before insert on ${table} for each row execute function fail()`,
    ],
    repair: (table) => [`drop trigger failing on ${table}`, "drop function fail()"],
  },
  {
    name: "has a constraint that no row meets",
    break: (table) => [`alter table ${table} add constraint nothing check (false) not valid`],
    repair: (table) => [`alter table ${table} drop constraint nothing`],
  },
  {
    name: "has a policy that hides its rows",
    break: (table) => [`alter table ${table} enable row level security`],
    repair: (table) => [`alter table ${table} disable row level security`],
  },
];

const consent = () => plane.send("/v1/consent", { body: { scope: "expenses", user_sub: "ada" } });

/** A session, an allow, and the tokens at each step. */
async function startCall() {
  const { json } = await consent();
  const [session, rootGrant] = [String(json.session_id), String(json.root_grant)];
  const target = { target: "http:ledger/pay", target_kind: "tool", data_class: "finance.entries" };
  const authorize = () => plane.send("/v1/authorize", { token: rootGrant, body: { session_id: session, ...target } });
  const decided = await authorize();
  const form = new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: rootGrant,
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    resource: target.target,
    scope: target.data_class,
    action_id: String(decided.json.action_id),
  });
  const exchange = () =>
    plane.send("/v1/token/exchange", {
      token: "",
      body: form.toString(),
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
  return { session, rootGrant, authorize, exchange, actionId: String(decided.json.action_id) };
}

type Act = { readonly table: string; readonly act: () => Promise<() => Promise<Answer>>; readonly code: string };

/** What each act must commit. The returned function is called while the fault lasts. */
const acts: Readonly<Record<string, Act>> = {
  authorize: { table: "decision", act: async () => (await startCall()).authorize, code: "audit_unavailable" },
  exchange: { table: "spend", act: async () => (await startCall()).exchange, code: "invalid_grant" },
  mint: {
    table: "mint",
    async act() {
      const { exchange, actionId } = await startCall();
      const token = String((await exchange()).json.access_token);
      return () =>
        plane.send("/v1/token/transaction", { token, body: { action_id: actionId, params: { amount: "1" } } });
    },
    code: "audit_unavailable",
  },
  renewal: {
    table: "spend",
    async act() {
      const { rootGrant } = await startCall();
      return () => plane.send("/v1/token/renew", { token: rootGrant, body: { count: 1 } });
    },
    code: "guard_unavailable",
  },
  consent: { table: "session", act: async () => consent, code: "database_unavailable" },
  "the consent's event": { table: "administrative_event", act: async () => consent, code: "database_unavailable" },
  block: {
    table: "block",
    act: async () => () => plane.send("/v1/blocks/tool/http:ledger", { method: "PUT", body: { reason: "incident" } }),
    code: "database_unavailable",
  },
  revocation: {
    table: "revocation",
    act: async () => () => plane.send(`/v1/agents/${planner}/revoke`, { body: {} }),
    code: "database_unavailable",
  },
};

const read = ({ json }: Answer) => (typeof json.error === "string" ? json.error : json.error?.code);

describe.each(faults)("while a table $name", ({ break: breaks, repair }) => {
  test.each(Object.entries(acts))("%s is 503 with its own code, and succeeds afterwards", async (_name, each) => {
    const { table, act, code } = each;
    const send = await act();
    await asSuperuser(...breaks(table));
    try {
      const answer = await send();
      expect([answer.status, read(answer)]).toEqual([503, code]);
      expect(answer.headers.get("retry-after")).toBe("1");
    } finally {
      await asSuperuser(...repair(table));
    }
    if (_name !== "revocation") expect((await send()).status).toBeLessThan(300);
  });

  test.each(["decision", "spend", "mint", "administrative_event"])("%s the process is not ready", async (table) => {
    expect((await plane.send("/readyz")).status).toBe(200);
    await asSuperuser(...breaks(table));
    try {
      const { status, json } = await plane.send("/readyz");
      expect([status, json.details?.failing]).toEqual([503, ["database"]]);
    } finally {
      await asSuperuser(...repair(table));
    }
    expect((await plane.send("/readyz")).status).toBe(200);
  });
});

test("while no partition takes this month's decisions, authorize is 503 and the process is not ready", async () => {
  const { authorize } = await startCall();
  const parts = await query<{ part: string; bound: string }>(
    plane.database.superuserUrl,
    `select inhrelid::regclass::text as part, pg_get_expr(c.relpartbound, c.oid) as bound
     from pg_inherits join pg_class c on c.oid = inhrelid where inhparent = 'decision'::regclass`,
  );
  await asSuperuser(...parts.map(({ part }) => `alter table decision detach partition ${part}`));
  try {
    const answer = await authorize();
    expect([answer.status, read(answer)]).toEqual([503, "audit_unavailable"]);
    expect((await plane.send("/readyz")).status).toBe(503);
  } finally {
    await asSuperuser(...parts.map(({ part, bound }) => `alter table decision attach partition ${part} ${bound}`));
  }
  expect((await authorize()).status).toBe(200);
  expect((await plane.send("/readyz")).status).toBe(200);
});

test("a readiness probe leaves no row", async () => {
  await plane.send("/readyz", { token: tokens.admin });
  const [rows] = await query(
    plane.database.superuserUrl,
    `select (select count(*)::int from decision where record_version = 0) as decisions,
      (select count(*)::int from spend where spent_at < '2000-01-01') as spends,
      (select count(*)::int from mint where params_hash = '') as mints,
      (select count(*)::int from administrative_event where kind = '') as events`,
  );
  expect(rows).toEqual({ decisions: 0, spends: 0, mints: 0, events: 0 });
});

test("the log names a record that cannot be written by its own class", async () => {
  await asSuperuser(`revoke insert on decision from "${role()}"`);
  try {
    const pool = plane.stores.health;
    await expect(probeDatabase(pool, plane.deps.ids)).rejects.toThrow(RecordNotWritable);
  } finally {
    await asSuperuser(`grant insert on decision to "${role()}"`);
  }
});

describe("a fault of the database is DatabaseUnavailable", () => {
  // Every class of SQLSTATE that a statement of ours can meet (PostgreSQL, appendix A), the driver's codes, and Node's.
  const codes = [
    "08006 0A000 21000 22021 23502 23505 23514 25006 25P02 26000 28P01 3D000 3F000 40001 40P01 42501 42703 42P01 42P05",
    "53100 53200 53300 54000 55000 55006 55P03 57014 57P01 57P03 58030 P0001 XX000 XX001 XX002",
    "CONNECTION_CLOSED CONNECTION_ENDED CONNECTION_DESTROYED CONNECT_TIMEOUT NOT_TAGGED_CALL UNSAFE_TRANSACTION",
    "ECONNREFUSED ECONNRESET EPIPE ENOTFOUND EAI_AGAIN ETIMEDOUT",
    "CERT_HAS_EXPIRED DEPTH_ZERO_SELF_SIGNED_CERT ERR_TLS_CERT_ALTNAME_INVALID ERR_SSL_WRONG_VERSION_NUMBER",
  ].flatMap((line) => line.split(" "));

  test.each(codes)("by the code %s", async (code) => {
    const fault = Object.assign(new Error("fault"), { code });
    await expect(bounded(60_000, Promise.reject(fault))).rejects.toThrow(DatabaseUnavailable);
  });

  test("of a class of the driver's", async () => {
    const sql = postgres(plane.database.appUrl, { max: 1 });
    await expect(bounded(60_000, sql`select 1 / 0`)).rejects.toThrow(DatabaseUnavailable);
    await sql.end();
  });

  test("and a fault of ours passes as it is", async () => {
    const ours = new TypeError("a mistake");
    await expect(bounded(60_000, Promise.reject(ours))).rejects.toBe(ours);
  });
});
