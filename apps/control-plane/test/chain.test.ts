import { afterAll, expect, test } from "vitest";
import { type Row, recorder } from "./decision-rows.ts";
import { startPlane, tokens } from "./support.ts";

const plane = await startPlane();
const { sql, sessionId, consent, aRow, record, spend } = await recorder(plane);
afterAll(async () => {
  await sql.end();
  await plane.stop();
});

const chainOf = (actionId: string) => plane.send(`/v1/audit/actions/${actionId}/chain`, { token: tokens.audit });
const root = {
  user_sub: "ada",
  scope: "expenses",
  session_id: sessionId,
  consented_at: expect.stringMatching(/Z$/),
};

const second = (parent: Row | undefined, changes: object = {}) =>
  record({
    hop: 2,
    chain: ["planner"],
    acting_agent: "planner",
    target: "mcp:ledger/read",
    target_kind: "tool",
    parent_action_id: parent?.action_id ?? null,
    ...changes,
  });

test.each<[string, () => Promise<Row>]>([
  ["LEGACY_TOKEN", () => second(undefined)],
  ["PARENT_NOT_FOUND", () => second(aRow())],
  ["PARENT_INCOMPLETE", async () => second(await record())],
  ["PARENT_MISMATCH", async () => second(await spent({ target: "another-agent" }))],
  ["PARENT_MISMATCH", async () => second(await spent({ session_id: await consent() }))],
  ["PARENT_MISMATCH", async () => second(await spent({ hop: 2 }))],
  ["PARENT_MISMATCH", async () => second(await record({ decision: "deny", deny_reason: "TAINT_BLOCKED" }))],
  ["LEGACY_RECORD", async () => second(await spent(), { record_version: 1 })],
])("an incomplete chain names the hop and the reason: %s", async (reason, action) => {
  const { json } = await chainOf((await action()).action_id);
  expect(json).toMatchObject({ complete: false, break: { at_hop: 2, reason }, root });
  expect(json.hops).toHaveLength(1);
});

async function spent(changes: Record<string, unknown> = {}): Promise<Row> {
  const row = await record(changes);
  await spend(row.action_id);
  return row;
}

test("each chain that is read is counted as complete, broken or not found", async () => {
  const results: string[] = [];
  const chainRead = (result: string) => void results.push(result);
  const app = plane.with({ events: { ...plane.deps.events, chainRead } });
  for (const { action_id } of [await record(), await second(undefined), aRow()]) {
    await app.send(`/v1/audit/actions/${action_id}/chain`);
  }
  expect(results).toEqual(["complete", "broken", "not_found"]);
});

test("a chain's duration is what its reading took, whatever the wall clock does", async () => {
  const delayMs = 50;
  const { action_id } = await record();
  const seconds: number[] = [];
  const chainRead = (_result: string, duration: number) => void seconds.push(duration);
  const { audit, events } = plane.deps;
  const lineage: typeof audit.lineage = async (action) => {
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    return audit.lineage(action);
  };
  const stopped = { nowMs: () => 0 };
  const app = plane.with({ audit: { ...audit, lineage }, clock: stopped, events: { ...events, chainRead } });
  const startedMs = performance.now();
  await app.send(`/v1/audit/actions/${action_id}/chain`);
  const tookMs = performance.now() - startedMs;
  const [duration = Number.NaN] = seconds;
  // A timer may be a millisecond early.
  expect(duration * 1000).toBeGreaterThan(delayMs - 2);
  expect(duration * 1000).toBeLessThanOrEqual(tookMs);
});
