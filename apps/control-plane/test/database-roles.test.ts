import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createDatabase } from "@svc/test-support";
import postgres from "postgres";
import { uuidv7 } from "uuidv7";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, poolOf, type Sql } from "../src/postgres/database.ts";
import { migrate } from "../src/postgres/migrate.ts";
import { retention } from "../src/postgres/retention.ts";
import { query } from "./support.ts";

const deployed = (name: string): string =>
  readFileSync(new URL(`../../../deploy/postgres/${name}`, import.meta.url), "utf8");

/** Names of this run: roles are the whole server's, and tests share one. */
const prefix = `svc_${randomBytes(4).toString("hex")}`;
const ours = (text: string): string =>
  text.replaceAll(/\bsvc_(owner|migrate|app)\b/g, `${prefix}_$1`).replaceAll(/\bdatabase svc\b/g, `database ${prefix}`);

/** As psql does: one statement after the other, each by itself. */
const statements = (text: string): readonly string[] =>
  text
    .replaceAll(/^--.*$/gm, "")
    .split(/;\s*$/m)
    .filter((statement) => statement.trim() !== "");

const password = randomBytes(16).toString("hex");
let address: URL;
const urlOf = (role: string): string =>
  Object.assign(new URL(address), { username: `${prefix}_${role}`, password, pathname: `/${prefix}` }).href;
const superuserUrl = (): string => Object.assign(new URL(address), { pathname: `/${prefix}` }).href;
const as = (role: string, statement: string) => query(urlOf(role), statement);

let service: Sql;
beforeAll(async () => {
  const database = await createDatabase();
  address = Object.assign(new URL(database.superuserUrl), { pathname: "/postgres" });
  const superuser = postgres(address.href, { max: 1, onnotice: () => {} });
  for (const statement of statements(ours(deployed("roles.sql")))) await superuser.unsafe(statement);
  for (const role of ["owner", "migrate", "app"]) {
    await superuser.unsafe(`alter role ${prefix}_${role} password '${password}'`);
  }
  await superuser.end();
  await database.drop();
  await migrate({ ownerUrl: urlOf("migrate"), appUrl: urlOf("app") });
  service = connect({ url: urlOf("app"), maxConnections: 1, statementTimeoutMs: 5_000 });
});
afterAll(async () => {
  await service.end();
  const superuser = postgres(address.href, { max: 1, onnotice: () => {} });
  await superuser.unsafe(`drop database ${prefix} with (force)`);
  for (const role of ["migrate", "app", "owner"]) await superuser.unsafe(`drop role ${prefix}_${role}`);
  await superuser.end();
});

const insertDecision = `
  insert into decision (action_id, record_version, session_id, stage, hop, chain, acting_agent, target, target_kind,
    data_class, decision, recoverable, enforced, privileged, taint, policy_version, decided_at)
  values (first_id_of(this_month()), 2, gen_random_uuid(), 'authorize', 1, '{}', 'ada', 'planner', 'agent', 'finance',
    'allow', false, true, false, 'trusted_internal', 1, now())`;
const keeper = () => retention({ pool: poolOf(service, 5_000), clock: { nowMs: () => 0 }, ids: { next: uuidv7 } });

describe("the roles of roles.sql", () => {
  test("give every table to an owner that cannot log in", async () => {
    const owners = await as(
      "migrate",
      "select distinct tableowner as owner from pg_tables where schemaname = 'public'",
    );
    expect(owners).toEqual([{ owner: `${prefix}_owner` }]);
    await expect(as("owner", "select 1")).rejects.toThrow(/not permitted to log in/);
  });

  test("let the service append to the record, durably, and read it", async () => {
    await as("app", insertDecision);
    expect(await as("app", "select target from decision")).toEqual([{ target: "planner" }]);
    expect(await query(urlOf("app"), "show synchronous_commit")).toEqual([{ synchronous_commit: "on" }]);
  });

  test.each([
    "delete from decision",
    "truncate spend",
    "alter table decision disable trigger all",
    "create table mine (id int)",
    "create temp table mine (id int)",
    `set role ${prefix}_owner`,
  ])("do not let the service: %s", async (statement) => {
    await expect(as("app", statement)).rejects.toThrow(/permission denied|must be owner/);
  });

  test("let the service run retention", async () => {
    expect(await keeper().prepareMonths()).toBe("done");
    expect(await keeper().retire()).toBe("done");
  });
});

describe("with guard.sql", () => {
  beforeAll(async () => {
    for (const _ of ["once", "again after an upgrade"]) await query(superuserUrl(), deployed("guard.sql"));
  });

  const thisMonth = `decision_${new Date().toISOString().slice(0, 7).replace("-", "_")}`;
  test.each([
    `drop table ${thisMonth}`,
    "drop table spend cascade",
    "drop table decision cascade",
    "alter table spend rename to spent",
    `alter table ${thisMonth} rename to other`,
    `alter table decision detach partition ${thisMonth}`,
    "alter table decision disable trigger append_only",
    `alter table ${thisMonth} disable trigger all`,
    "alter table spend enable replica trigger append_only",
    "drop trigger append_only on spend",
    `drop trigger append_only_whole on ${thisMonth}`,
    "alter trigger append_only on spend rename to something",
    "drop function refuse_change() cascade",
    "create or replace function refuse_change() returns trigger language plpgsql as 'begin return old; end'",
    "create or replace function is_retired(id uuid) returns boolean language sql as 'select true'",
    "create or replace trigger append_only before update on spend for each row when (false) execute function refuse_change()",
    "drop schema public cascade",
    "delete from record_guard.record_table",
    "drop event trigger guard_record",
  ])("the owner cannot: %s", async (statement) => {
    await expect(as("migrate", statement)).rejects.toThrow(
      /part of the record|no longer be append-only|must be owner|permission denied|does not exist/,
    );
    expect(await as("app", "select target from decision")).toEqual([{ target: "planner" }]);
  });

  test("migrations still run", async () => {
    await as("migrate", "create table later (id int); alter table later add column more int; drop table later");
    await as("migrate", "alter table decision add column later text; alter table decision drop column later");
    await migrate({ ownerUrl: urlOf("migrate"), appUrl: urlOf("app") });
  });

  test("months are created, and dropped only after the retention that the owner set", async () => {
    await as("migrate", "select make_decision_partition('2020-01-01'), make_decision_partition('2020-02-01')");
    await expect(as("migrate", "drop table decision_2020_01")).rejects.toThrow(/part of the record/);
    await as("migrate", "update retention set keep_months = 13");
    expect(await keeper().retire()).toBe("done");
    const left = await as("app", "select relname from pg_class where relname like 'decision_2020%' and relkind = 'r'");
    expect(left).toEqual([]);
  });
});
