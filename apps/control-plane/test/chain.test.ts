import { afterAll, describe, expect, test } from "vitest";
import { type Row, recorder, unknownId } from "./decision-rows.ts";
import { startPlane, tokens } from "./support.ts";

const plane = await startPlane();
const { sql, sessionId, consent, aRow, record, spend } = await recorder(plane);
afterAll(async () => {
  await sql.end();
  await plane.stop();
});

describe("a chain", () => {
  const chainOf = (actionId: string) => plane.send(`/v1/audit/actions/${actionId}/chain`, { token: tokens.audit });
  const root = () => ({
    user_sub: "ada",
    scope: "expenses",
    session_id: sessionId,
    consented_at: expect.stringMatching(/Z$/),
  });

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

  test("reads back to the consenting human, in order of hop", async () => {
    const first = await record();
    await spend(first.action_id);
    const denied = await second(first, { decision: "deny", deny_reason: "TAINT_BLOCKED", enforced: false });
    const { status, json } = await chainOf(denied.action_id);
    expect(status).toBe(200);
    expect(json).toEqual({
      root: root(),
      hops: [
        {
          hop: 1,
          action_id: first.action_id,
          acting_agent: "ada",
          target: "planner",
          target_kind: "agent",
          data_class: "finance.entries",
          decision: "allow",
          deny_reason: null,
          enforced: true,
          ts: first.decided_at.toISOString(),
        },
        {
          hop: 2,
          action_id: denied.action_id,
          acting_agent: "planner",
          target: "mcp:ledger/read",
          target_kind: "tool",
          data_class: "finance.entries",
          decision: "deny",
          deny_reason: "TAINT_BLOCKED",
          enforced: false,
          ts: denied.decided_at.toISOString(),
        },
      ],
      complete: true,
      break: null,
    });
  });

  test.each<[string, () => Promise<Row>, number, number]>([
    ["LEGACY_TOKEN", () => second(undefined), 2, 1],
    ["PARENT_NOT_FOUND", () => second(aRow()), 2, 1],
    ["PARENT_INCOMPLETE", async () => second(await record()), 2, 1],
    ["PARENT_MISMATCH", async () => second(await spent({ target: "somebody-else" })), 2, 1],
    ["PARENT_MISMATCH", async () => second(await spent({ session_id: await consent() })), 2, 1],
    ["PARENT_MISMATCH", async () => second(await spent({ hop: 2 })), 2, 1],
    ["PARENT_MISMATCH", async () => second(await record({ decision: "deny", deny_reason: "TAINT_BLOCKED" })), 2, 1],
    ["LEGACY_RECORD", async () => second(await spent(), { record_version: 1 }), 2, 1],
  ])("that breaks says where and why: %s", async (reason, action, atHop, reached) => {
    const { json } = await chainOf((await action()).action_id);
    expect(json).toMatchObject({ complete: false, break: { at_hop: atHop, reason }, root: root() });
    expect(json.hops).toHaveLength(reached);
  });

  async function spent(changes: Record<string, unknown> = {}): Promise<Row> {
    const row = await record(changes);
    await spend(row.action_id);
    return row;
  }

  test.each([unknownId, "x", "%25", "'", "01900000-0000-7000-8000-00000000000G"])(
    "of the unknown action %s is not found",
    async (actionId) => {
      expect(await chainOf(actionId)).toMatchObject({ status: 404, json: { error: { code: "action_not_found" } } });
    },
  );

  test("is counted by how it came out", async () => {
    const results: string[] = [];
    const chainRead = (result: string) => void results.push(result);
    const app = plane.with({ events: { ...plane.deps.events, chainRead } });
    for (const { action_id } of [await record(), await second(undefined), aRow()]) {
      await app.send(`/v1/audit/actions/${action_id}/chain`);
    }
    expect(results).toEqual(["complete", "broken", "not_found"]);
  });
});
