import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { WouldBlockQuery } from "../src/ports/audit-reads.ts";
import { countedPlane, observedDeny } from "./would-block-counts.ts";

const { records, owner, list, listFromLog, observedByScope, places, placesFromLog, count, record, stop } =
  await countedPlane();
afterAll(stop);

const scopes = ["expenses", "travel"] as const;
const sessions = new Map<string, string>();
const parents: (string | null)[] = [null];
beforeAll(async () => {
  for (const data_class of ["finance", "crm"]) parents.push((await records.record({ data_class })).action_id);
  await records.register("traveller", "travel");
  sessions.set("expenses", records.sessionId).set("travel", await records.consent("travel"));
  await owner`update retention set keep_months = 1`;
});

/** Of the months of one run. The last of three has no partition, and the others can be retired. */
interface Moment {
  readonly month: 0 | 1 | 2;
  readonly place: string;
  readonly offsetMs: number;
}

const moment: fc.Arbitrary<Moment> = fc.record({
  month: fc.constantFrom(0, 1, 2),
  place: fc.constantFrom(
    "01T00:00",
    "01T00:10",
    "02T00:00",
    "09T23:50",
    "10T00:00",
    "17T05:00",
    "17T05:20",
    "28T23:50",
  ),
  offsetMs: fc.constantFrom(-86_400_000, -3_600_000, -1, 0, 1, 59_999, 599_999, 600_000, 7_200_000),
});

const row = fc.record({
  at: moment,
  /** Between the time of the identifier and that of the decision. */
  identifierMs: fc.constantFrom(0, 0, 0, -2, 3_600_000),
  scope: fc.constantFrom(...scopes),
  acting_agent: fc.constantFrom("ada", "planner", "Zoë", "zoe"),
  target: fc.constantFrom("http:a", "http:b"),
  data_class: fc.constantFrom("finance", "finance crm", "x ".repeat(2_000).trim()),
  place: fc.record({
    hop: fc.constantFrom(1, 2),
    chain: fc.constantFrom([], ["planner"], ["planner", "clerk"]),
    taint: fc.constantFrom("trusted_internal", "untrusted_external"),
    parent: fc.constantFrom(0, 1, 2),
  }),
  kind: fc.constantFrom("observed", "observed", "observed", "enforced", "allowed"),
});

const query = fc.record({
  scope: fc.constantFrom(undefined, undefined, ...scopes, "nowhere"),
  since: fc.option(moment, { nil: undefined }),
  until: fc.option(moment, { nil: undefined }),
  limit: fc.constantFrom(1, 2, 3, 1_000),
  /** Which of the listed groups the page is after. */
  after: fc.option(fc.nat(20), { nil: undefined }),
});

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ does: fc.constant("record"), rows: fc.array(row, { maxLength: 12 }) }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant("count"), most: fc.integer({ min: 1, max: 9 }) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("be killed"), most: fc.integer({ min: 1, max: 9 }) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("count at once"), most: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("retire") }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("purge") }) },
);
type Step = { readonly does: string; readonly most?: number; readonly rows?: readonly RowSpec[] };
type RowSpec = typeof row extends fc.Arbitrary<infer T> ? T : never;

let runs = 0;
/** Months of its own for each run, each with its place in the log. */
async function monthsOfRun(): Promise<readonly string[]> {
  const first = 12 * 2_000 + 3 * runs++;
  const months = [0, 1, 2].map(
    (n) => `${Math.floor((first + n) / 12)}-${String(((first + n) % 12) + 1).padStart(2, "0")}`,
  );
  for (const month of months.slice(0, 2)) await owner`select make_decision_partition(${`${month}-01`}::date)`;
  return months;
}

const msOf = (months: readonly string[], { month, place, offsetMs }: Moment): number =>
  Date.parse(`${months[month]}-${place}:00Z`) + offsetMs;

function decisionOf(months: readonly string[], { at, identifierMs, scope, kind, place, ...names }: RowSpec) {
  const decidedMs = msOf(months, at);
  const outcome = {
    observed: observedDeny,
    enforced: { ...observedDeny, enforced: true },
    allowed: { enforced: false },
  }[kind];
  const { action_id } = records.aRow({ decided_at: new Date(decidedMs + identifierMs) });
  const { parent, ...placed } = place;
  const changes = {
    ...outcome,
    ...names,
    ...placed,
    parent_action_id: parents[parent],
    session_id: sessions.get(scope),
  };
  return { ...records.aRow({ ...changes, decided_at: new Date(decidedMs) }), action_id };
}

async function take(months: readonly string[], { does, most = 1, rows = [] }: Step): Promise<void> {
  if (does === "record") await record(rows.map((each) => decisionOf(months, each)));
  if (does === "count") await count(most);
  if (does === "count at once") await Promise.all([count(most), count(most)]);
  if (does === "retire")
    while ((await owner`select from retire_oldest_month() month where month is not null`).count > 0);
  if (does === "purge") await owner`select purge_retired_counts()`;
  if (does !== "be killed") return;
  const killed = owner.begin(async (tx) => {
    await tx`select count_would_block_rows(${most})`;
    throw new Error("killed");
  });
  await expect(killed).rejects.toThrow("killed");
}

type QuerySpec = typeof query extends fc.Arbitrary<infer T> ? T : never;

async function compare(months: readonly string[], { since, until, after, ...spec }: QuerySpec): Promise<void> {
  const asked: WouldBlockQuery = {
    ...spec,
    sinceMs: since && msOf(months, since),
    untilMs: until && msOf(months, until),
    after: undefined,
  };
  const position = after === undefined ? undefined : (await listFromLog({ ...asked, limit: 1_000 }))[after]?.position;
  const page = { ...asked, after: position } as WouldBlockQuery;
  const groups = await listFromLog(page);
  expect(await list(page)).toEqual(groups);
  // A span's end may leave a place in that was seen before and after it.
  const placed = { ...asked, untilMs: undefined, groups: groups.map(({ position }) => position) };
  expect(await places(placed)).toEqual(await placesFromLog(placed));
  expect(await observedByScope(1_000)).toEqual(await scopesFromLog());
}

async function scopesFromLog() {
  const listed = await Promise.all(scopes.map((scope) => listFromLog({ scope, after: undefined, limit: 1_000 })));
  const totals = scopes.map((scope, n) => ({ scope, count: sum(listed[n]?.map(({ count: calls }) => calls) ?? []) }));
  return totals.filter(({ count: calls }) => calls > 0).toSorted((a, b) => b.count - a.count);
}

const sum = (counts: readonly number[]): number => counts.reduce((total, each) => total + each, 0);

test("the list equals a count of the log after records, counting, kills and retirements in any order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(step, fc.array(query, { minLength: 1, maxLength: 3 })), { minLength: 3, maxLength: 14 }),
      async (steps) => {
        const months = await monthsOfRun();
        for (const [next, queries] of steps) {
          await take(months, next);
          for (const asked of queries) await compare(months, asked);
        }
      },
    ),
    { numRuns: 40 },
  );
});
