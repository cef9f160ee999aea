import { testBearers } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Operation, readDocument } from "./src/document.ts";
import { prepare } from "./src/examples/index.ts";
import { wellMeant } from "./src/hostile/aim.ts";
import { basesOf, inOrder } from "./src/hostile/bases.ts";
import { openWire } from "./src/hostile/wire-request.ts";
import { insertSignIn } from "./src/inserted-sign-in.ts";
import { insertSink } from "./src/inserted-sink.ts";
import { asOwner, startOne } from "./src/stack.ts";

// Started at collection, since the document is the table of cases.
const { api, database, stop } = await startOne();
const wire = openWire(api.url);
afterAll(async () => {
  wire.close();
  await stop();
});
await prepare(api);
await asOwner(database, (sql) => insertSignIn(sql));
await asOwner(database, (sql) => insertSink(sql));
const { operations, faults } = readDocument((await api.call("GET", "/openapi.json")).body);
const ordered = inOrder(operations);

/** The responses to valid requests, in a live session and in an ended one. */
async function callOf(operation: Operation): Promise<{ statuses: readonly number[]; faults: readonly string[] }> {
  const answers = [];
  for (const make of basesOf(operation)) {
    answers.push(await wire.send(wellMeant(operation, await make(api, database), testBearers)));
  }
  return {
    statuses: answers.map(({ status }) => status),
    faults: answers.flatMap((answer) => faults(operation, answer)),
  };
}

/** An expanding migration: what it may do to every table while this release still runs. */
const expand = () =>
  asOwner(database, async (sql) => {
    const tables = await sql<{ name: string }[]>`
      select relname::text as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`;
    await sql.begin(async (tx) => {
      for (const { name } of tables) {
        await tx`alter table ${tx(name)} add column added_later text, add column counted_later int not null default 0`;
        await tx`create index on ${tx(name)} (added_later)`;
      }
      await tx`create table came_later (id uuid primary key, session_id uuid references session)`;
    });
    return tables.length;
  });

describe("a process of this release on the schema of the next", () => {
  const before = new Map<Operation, readonly number[]>();
  beforeAll(async () => {
    // Twice: the second call uses a statement prepared for the schema of that time.
    for (const operation of [...ordered, ...ordered]) before.set(operation, (await callOf(operation)).statuses);
    expect(await expand()).toBeGreaterThan(20);
  });

  test.each(ordered)("serves $name as before, writes included", async (operation) => {
    const answered = await callOf(operation);
    expect(answered).toEqual({ statuses: before.get(operation), faults: [] });
    expect(operation.statuses).toContain(String(answered.statuses[0]));
    expect(answered.statuses[0]).toBeLessThan(300);
  });
});
