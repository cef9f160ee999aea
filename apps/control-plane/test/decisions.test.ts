import { decisionsQuery, fromWire } from "@svc/core";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { poolOf } from "../src/postgres/database.ts";
import { decisionPages } from "../src/postgres/decision-pages.ts";
import { connectForAudit } from "../src/start/stores.ts";
import { type Row, recorder } from "./decision-rows.ts";
import { type Answer, startPlane, tokens } from "./support.ts";

const plane = await startPlane();
const { sql, sessionId, consent, record, register } = await recorder(plane);
afterAll(async () => {
  await sql.end();
  await plane.stop();
});

const read = (search: string, path = "/v1/audit/decisions"): Promise<Answer> =>
  plane.send(`${path}?${search}`, { token: tokens.audit });
const idsOf = ({ json }: Answer): string[] =>
  (json.data as unknown as { action_id: string }[]).map(({ action_id }) => action_id);

test("an observed deny with names of the greatest length is recorded and grouped", async () => {
  const dataClass = Array.from({ length: 100 }, () => crypto.randomUUID().replaceAll("-", "")).join(" ");
  const deny = { decision: "deny", deny_reason: "TARGET_NOT_DECLARED", enforced: false, data_class: dataClass };
  await record({ ...deny, acting_agent: "é".repeat(255), target: "x".repeat(255) });
  const { json } = await read("limit=200", "/v1/audit/would-block");
  expect(json.data).toEqual([expect.objectContaining({ data_class: dataClass, count: 1 })]);
});

test("a time finer than a millisecond excludes the millisecond that contains it", async () => {
  const agent = "fine-time";
  const { action_id: id } = await record({ acting_agent: agent, decided_at: new Date("2020-01-01T00:00:00Z") });
  const between = async (since: string, until: string) =>
    idsOf(await read(`agent=${agent}&since=${since}&until=${until}`));
  const [before, at, after] = ["2019-12-31T23:59:59.9991Z", "2020-01-01T00:00:00.000Z", "2020-01-01T00:00:00.0001Z"];
  expect(await between(before, after)).toEqual([id]);
  expect(await between(after, "2020-01-02T00:00:00Z")).toEqual([]);
  expect(await between(before, at)).toEqual([]);
});

describe("any combination of filters", () => {
  const agents = ["combined-a", "combined-b"] as const;
  const times = ["2021-03-31T23:59:59.999Z", "2021-04-01T00:00:00.000Z", "2021-06-15T12:00:00.000Z"] as const;
  const reasons = ["TAINT_BLOCKED", "TARGET_BLOCKED"] as const;
  const targets = ["mcp:ledger", "mcp:ledger/read", "planner"] as const;
  const kept: Row[] = [];
  let otherSession = "";
  beforeAll(async () => {
    await register("keeper", "combined");
    otherSession = await consent("combined", "bob");
    const facts = fc.record({
      acting_agent: fc.constantFrom(...agents),
      decided_at: fc.constantFrom(...times.map((time) => new Date(time))),
      deny_reason: fc.constantFrom(null, ...reasons),
      enforced: fc.boolean(),
      target_kind: fc.constantFrom("tool", "agent"),
      taint: fc.constantFrom("trusted_internal", "untrusted_external"),
      privileged: fc.boolean(),
      session_id: fc.constantFrom(sessionId, otherSession),
      target: fc.constantFrom(...targets),
      data_class: fc.constantFrom("protocol", "finance.entries"),
    });
    for (const changes of fc.sample(facts, { numRuns: 120, seed: 7 })) {
      kept.unshift(await record({ ...changes, decision: changes.deny_reason === null ? "allow" : "deny" }));
    }
  });

  const selects: Readonly<Record<string, (row: Row, value: string) => boolean>> = {
    agent: (row, value) => row.acting_agent === value,
    session_id: (row, value) => row.session_id === value,
    outcome: (row, value) => row.decision === value,
    deny_reason: (row, value) => row.deny_reason === value,
    enforced: (row, value) => row.enforced === (value === "true"),
    target_kind: (row, value) => row.target_kind === value,
    taint: (row, value) => row.taint === value,
    privileged: (row, value) => row.privileged === (value === "true"),
    target: (row, value) => row.target === value,
    user_sub: (row, value) => (row.session_id === otherSession ? "bob" : "ada") === value,
    scope: (row, value) => (row.session_id === otherSession ? "combined" : "expenses") === value,
    protocol: (row, value) => (row.data_class === "protocol" && row.target === "mcp:ledger") === (value === "true"),
    since: (row, value) => row.decided_at >= new Date(value),
    until: (row, value) => row.decided_at < new Date(value),
  };

  const queries = () =>
    fc.record({
      agent: fc.constantFrom(...agents),
      ...partly({
        session_id: fc.constant(sessionId),
        outcome: fc.constantFrom("allow", "deny"),
        deny_reason: fc.constantFrom(...reasons),
        enforced: fc.constantFrom("true", "false"),
        target_kind: fc.constantFrom("tool", "agent"),
        taint: fc.constantFrom("trusted_internal", "untrusted_external"),
        privileged: fc.constantFrom("true", "false"),
        target: fc.constantFrom(...targets),
        user_sub: fc.constantFrom("ada", "bob", "eve"),
        scope: fc.constantFrom("combined", "expenses"),
        protocol: fc.constantFrom("true", "false"),
        since: fc.constantFrom("2021-01-01T00:00:00Z", ...times.slice(0, 2)),
        until: fc.constantFrom(...times.slice(1), "2021-06-15T14:00:00.001+02:00"),
      }),
    });
  type Given = readonly [name: string, value: string][];
  const wanted = (given: Given) => {
    const rows = kept.filter((row) => given.every(([name, value]) => selects[name]?.(row, value)));
    return rows.map(({ action_id }) => action_id);
  };
  const eachQuery = (holds: (given: Given) => Promise<void>, numRuns: number) =>
    fc.assert(
      fc.asyncProperty(queries(), (filters) =>
        holds(Object.entries(filters).filter((pair): pair is [string, string] => pair[1] !== undefined)),
      ),
      { numRuns },
    );

  test("selects the decisions that match every filter, newest first", () =>
    eachQuery(async (given) => {
      const answer = await read(new URLSearchParams([...given, ["limit", "200"]]).toString());
      expect(idsOf(answer)).toEqual(wanted(given));
    }, 200));

  test("selects the same oldest first, in pages", () =>
    eachQuery(async (given) => {
      const found: string[] = [];
      let cursor: string[][] = [];
      do {
        const search = new URLSearchParams([...given, ["order", "oldest"], ["limit", "20"], ...cursor]);
        const answer = await read(search.toString());
        found.push(...idsOf(answer));
        const { next_cursor: next } = answer.json.page as unknown as { next_cursor: string | null };
        cursor = next === null ? [] : [["cursor", next]];
      } while (cursor.length > 0);
      expect(found.toReversed()).toEqual(wanted(given));
    }, 30));

  test("selects the same where each page reads only a part of the log, and names where it ended", async () => {
    const pages = decisionPages(poolOf(connectForAudit(plane.database.appUrl, 1), 5_000), { rows: 7, sessions: 0 });
    for (const order of ["newest", "oldest"] as const) {
      await eachQuery(async (given) => {
        const {
          since: sinceMs,
          until: untilMs,
          ...filter
        } = fromWire(decisionsQuery, decisionsQuery.parse(Object.fromEntries(given)));
        const found: string[] = [];
        let after: bigint | undefined;
        do {
          const { rows, readTo } = await pages({ filter: { ...filter, sinceMs, untilMs }, order, after, limit: 5 });
          found.push(...rows.map(({ record }) => record.actionId));
          after = rows.length === 5 ? rows.at(-1)?.seq : readTo;
        } while (after !== undefined);
        expect(order === "oldest" ? found.toReversed() : found).toEqual(wanted(given));
      }, 15);
    }
  });
});

/** Each of them, or not. */
const partly = <T extends Readonly<Record<string, fc.Arbitrary<string>>>>(parts: T) =>
  Object.fromEntries(
    Object.entries(parts).map(([name, value]) => [name, fc.option(value, { nil: undefined })]),
  ) as Readonly<Record<keyof T, fc.Arbitrary<string | undefined>>>;
