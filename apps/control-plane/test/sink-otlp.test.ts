import { waitUntil } from "@svc/test-support";
import { afterAll, afterEach, expect, test } from "vitest";
import { otlpReceiver } from "../src/background/delivery/otlp.ts";
import { runDelivery } from "../src/background/run-delivery.ts";
import { connect, poolOf } from "../src/postgres/database.ts";
import { sinks } from "../src/postgres/sinks.ts";
import { recorder } from "./decision-rows.ts";
import { type Field, fieldsOf, textOf } from "./protobuf-fields.ts";
import { aKey, marks, sealEverything, sealer } from "./sealing.ts";
import { startSinkReceiver } from "./sink-receiver.ts";
import { startPlane } from "./support.ts";

/** A stand-in for a collector: it reads the fields of `opentelemetry/proto/collector/logs/v1` and `logs/v1` by their numbers. */
const plane = await startPlane();
const { sql, record } = await recorder(plane);
const service = connect({ url: plane.database.appUrl, maxConnections: 4, statementTimeoutMs: 5_000 });
const pool = poolOf(service, 5_000);
const key = await aKey();
const collector = await startSinkReceiver();
const positions = () => sinks({ pool, proof: { authenticity: marks, keys: () => new Map() }, leaseMs: 300 });
let delivery: ReturnType<typeof runDelivery> | undefined;
afterEach(() => delivery?.close());
afterAll(async () => {
  await collector.stop();
  await Promise.all([sql.end(), service.end()]);
  await plane.stop();
});

const deliver = () => {
  const receiver = otlpReceiver(
    { url: collector.url, authorization: "Bearer abc" },
    { nowMs: () => 1_000_000 },
    "1.2.3",
  );
  delivery = runDelivery({ sinks: positions(), receiver, onFault: () => {}, everyMs: 20, pauseMs: () => 20 });
};
const status = async () => (await positions().statuses()).find(({ sink }) => sink === "otlp");

const within = (message: Uint8Array, ...path: readonly number[]): readonly Field[] => {
  const [number, ...rest] = path;
  const found = fieldsOf(message).filter((field) => field.number === number);
  return rest.length === 0 ? found : found.flatMap(({ bytes }) => within(bytes, ...rest));
};
const attributesIn = (message: Uint8Array, number: number) =>
  Object.fromEntries(
    within(message, number).map(({ bytes }) => [textOf(within(bytes, 1)[0]), textOf(within(bytes, 2, 1)[0])]),
  );

test("a stand-in for a collector gets each row as a log record with its evidence", async () => {
  await positions().register("otlp");
  const allow = await record({ acting_agent: "zoë" });
  const deny = await record({ decision: "deny", deny_reason: "TARGET_BLOCKED" });
  await sealEverything(sealer(service, () => key));
  deliver();
  await waitUntil("delivery", async () => (await status())?.undelivered === 0);
  const [message] = collector.taken();
  const body = message?.body ?? Buffer.alloc(0);
  expect(message?.headers).toMatchObject({ "content-type": "application/x-protobuf", authorization: "Bearer abc" });
  const [resource] = within(body, 1, 1);
  expect(attributesIn(resource?.bytes ?? body, 1)).toEqual({
    "service.name": "svc-control-plane",
    "service.version": "1.2.3",
  });
  expect(within(body, 1, 2, 1, 1).map(textOf)).toEqual(["svc.record"]);
  const records = within(body, 1, 2, 2).map(
    ({ bytes }): Record<string, unknown> => ({
      ...attributesIn(bytes, 6),
      name: textOf(within(bytes, 12)[0]),
      severity: within(bytes, 2)[0]?.value,
      timeMs: Number((within(bytes, 1)[0]?.value ?? 0n) / 1_000_000n),
      observedMs: Number((within(bytes, 11)[0]?.value ?? 0n) / 1_000_000n),
      leaf: JSON.parse(textOf(within(bytes, 5, 1)[0])).leaf,
    }),
  );
  const of = ({ action_id: id }: { action_id: string }) =>
    records.find((each) => each["log.record.uid"] === `decision/${id}`);
  expect(of(allow)).toMatchObject({
    "user.name": "zoë",
    "session.id": allow.session_id,
    "authz.target": "planner",
    "authz.target_kind": "agent",
    "authz.outcome": "allow",
    name: "svc.record.decision",
    severity: 9n,
    timeMs: allow.decided_at.getTime(),
    observedMs: 1_000_000,
    leaf: { source: "decision", row: { action_id: allow.action_id } },
  });
  expect(of(deny)).toMatchObject({ "authz.outcome": "deny", "authz.deny_reason": "TARGET_BLOCKED", severity: 13n });
});

test("a partial success that refuses a row is no delivery: the same rows are sent until all are taken", async () => {
  collector.reset();
  await positions().register("otlp");
  await record();
  await sealEverything(sealer(service, () => key));
  // ExportLogsServiceResponse{partial_success{rejected_log_records: 1, error_message: "no"}}
  const refusing = Buffer.from([0x0a, 0x06, 0x08, 0x01, 0x12, 0x02, 0x6e, 0x6f]);
  collector.answer(() => ({ status: 200, body: refusing }));
  deliver();
  await waitUntil("a failure", async () => ((await status())?.failures ?? 0) > 1);
  expect((await status())?.lastError).toBe("took a message, and refused 1 of its rows");
  // A warning alone (rejected_log_records 0) refuses nothing.
  collector.answer(() => ({ status: 200, body: Buffer.from([0x0a, 0x04, 0x12, 0x02, 0x6e, 0x6f]) }));
  await waitUntil("delivery", async () => (await status())?.undelivered === 0);
});
