import { readFileSync } from "node:fs";
import { createApi } from "@svc/test-conformance/api";
import { registerLedger } from "@svc/test-conformance/ledger";
import { addressOf, appRole, type OwnPostgres, ownerRole, startOwnPostgres } from "@svc/test-faults/postgres";
import { requires, startControlPlane, startOwnRedis, testBearers } from "@svc/test-support";
import { afterAll, beforeAll, expect } from "vitest";
import { keysWithoutSession, unboundTables } from "./src/distribution.ts";
import { everyHopStep } from "./src/every-hop-step.ts";
import { loggingStatements, statementsDuring } from "./src/logged-statements.ts";

const { test } = requires("postgresql", "redis-server");

const scope = "books";
const guide = readFileSync(new URL("../../deploy/SCALING.md", import.meta.url), "utf8");

/** Statements that look up a row by another key; the guide describes under this name what each would need. */
const exceptions: readonly { readonly name: string; readonly statement: RegExp }[] = [
  { name: "the committed allow", statement: /^select .* from decision d where d\.action_id = \$1$/ },
  { name: "the exchange's insert", statement: /^insert into spend .* cross join lateral/ },
];

let primary: OwnPostgres;
let statements: readonly string[];
const stops: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  const [database, redis] = await Promise.all([startOwnPostgres({ settings: loggingStatements }), startOwnRedis()]);
  primary = database;
  stops.push(database.remove, redis.stop);
  const stores = {
    database: { appUrl: addressOf(appRole, primary.port), ownerUrl: addressOf(ownerRole, primary.port) },
    redis,
  };
  const start = async () => {
    const controlPlane = await startControlPlane(stores, { SVC_ISSUER: "https://issuer.test" });
    stops.unshift(controlPlane.stop);
    return createApi(controlPlane.url, testBearers);
  };
  const [one, other] = [await start(), await start()];
  await registerLedger(one, scope);
  statements = [...(await statementsOfHops(() => everyHopStep(one, scope, other)))].filter(isOfTables);
});
afterAll(async () => {
  for (const stop of stops) await stop();
});

/** Sealing reads the record every ten seconds; the run is then repeated. */
async function statementsOfHops(run: () => Promise<void>): Promise<ReadonlySet<string>> {
  for (;;) {
    const sent = await statementsDuring(primary, run);
    if (![...sent].some((statement) => /\bseal\b/.test(statement))) return sent;
  }
}

const isOfTables = (statement: string): boolean => !/^(?:begin|commit|rollback)\b|pg_catalog/.test(statement);

test("every statement of the hot path names its session, except those that the guide lists", async () => {
  expect(statements.length).toBeGreaterThan(15);
  for (const statement of statements) {
    const unbound = await unboundTables(primary, statement);
    const listed = exceptions.filter((exception) => exception.statement.test(statement)).map(({ name }) => name);
    expect({ statement, unbound, isListed: listed.length > 0 }).toEqual({
      statement,
      unbound,
      isListed: unbound.length > 0,
    });
  }
});

test.each(exceptions)(
  "$name: the guide describes the change it needs, and the hot path still sends it",
  ({ name, statement }) => {
    expect(guide).toContain(`| ${name} `);
    expect(statements.filter((sent) => statement.test(sent))).not.toEqual([]);
  },
);

test("the guide names every unique key without the session", async () => {
  const listed = [...guide.matchAll(/^\| `(\w+ \([\w, ]+\))` /gm)].map(([, key]) => key);
  expect(listed.toSorted()).toEqual(await keysWithoutSession(primary));
});
