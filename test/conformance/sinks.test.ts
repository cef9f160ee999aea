import { afterAll, beforeAll, expect, test } from "vitest";
import { insertSink } from "./src/inserted-sink.ts";
import { asOwner, type One, startOne } from "./src/stack.ts";

let one: One;
beforeAll(async () => {
  one = await startOne();
});
afterAll(() => one.stop());

const replay = (sink: string, since: string) =>
  one.api.call("POST", `/v1/sinks/${sink}/replay`, { bearer: one.api.tokens.admin, body: { since } });
const sinks = async () => (await one.api.call("GET", "/v1/sinks", { bearer: one.api.tokens.audit })).body.data;

test("a sink that was never set is in no list, and is not found", async () => {
  expect(await sinks()).toEqual([]);
  for (const sink of ["webhook", "otlp", "syslog"]) {
    const { status, body } = await replay(sink, "2026-01-31T08:00:00Z");
    expect([status, body.error.code]).toEqual([404, "sink_not_found"]);
  }
});

test("a sink is listed with its lag and its fault, and a replay moves it back, never forward", async () => {
  await asOwner(one.database, async (sql) => {
    await insertSink(sql);
    await sql`
      update sink set batch = 3, entries = 2, failures = 4, failing_since = '2026-01-31T08:00:00Z', last_error = 'answered 503',
        retry_at = '2026-01-31T08:01:00Z'`;
  });
  const failing = { failing_since: "2026-01-31T08:00:00.000Z", retry_at: "2026-01-31T08:01:00.000Z" };
  expect(await sinks()).toEqual([
    {
      ...{ sink: "webhook", batch: 3, lag_seconds: 0, delivered_at: null, failures: 4, last_error: "answered 503" },
      ...failing,
      undelivered: expect.any(Number),
    },
  ]);
  const back = (await replay("webhook", "2026-01-31T08:00:00Z")).body;
  expect(back).toMatchObject({ sink: "webhook", batch: 0, retry_at: null, failures: 4 });
  expect((await replay("webhook", "2999-01-31T08:00:00Z")).body.batch).toBe(0);
});
