import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type ControlPlane, createMigratedDatabase, startControlPlane, waitUntil } from "@svc/test-support";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";

/** SIGKILL of a control plane after its receiver took a message, and before the position was committed. */
const rows = 600;
/** Of a message. */
const messageRows = 200;
let database: Awaited<ReturnType<typeof createMigratedDatabase>>;
let owner: postgres.Sql;
let plane: ControlPlane | undefined;
/** Identifiers of each message that was taken. */
const messages: (readonly string[])[] = [];
const receiver = createServer(async (request, response) => {
  const body = await text(request);
  messages.push(
    body
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).leaf.row.event_id),
  );
  // Before the answer, so that no position follows.
  if (messages.length === 2) plane?.kill("SIGKILL");
  response.writeHead(204).end();
});

beforeAll(async () => {
  database = await createMigratedDatabase();
  owner = postgres(database.ownerUrl, { max: 1, onnotice: () => {} });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  // Old enough to be sealed at once, and the sink begins before them.
  await owner`insert into sink (name, batch) values ('webhook', 0)`;
  await owner`
    insert into administrative_event (event_id, kind, ts, actor)
    select (lpad(to_hex(${Date.now() - 600_000}::bigint + n), 12, '0') || '7000800000000000' || lpad(to_hex(n), 4, '0'))::uuid,
      'block_set', now(), 'alice'
    from generate_series(1, ${rows}) n`;
});
afterAll(async () => {
  await plane?.stop();
  receiver.close();
  await owner?.end();
  await database?.drop();
});

test("after it every row has arrived, in order, and only the message of that moment twice", async () => {
  const settings = {
    SVC_SINK_WEBHOOK: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
    SVC_SINK_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString("base64")}`,
    SVC_SINK_WEBHOOK_FORMAT: "jsonl",
  };
  const first = await startControlPlane({ database }, settings);
  plane = first;
  await first.exited;
  expect(messages).toHaveLength(2);
  plane = await startControlPlane({ database }, settings);
  await waitUntil("the last row", () => messages.flat().length >= rows + messageRows);
  const all = messages.flat();
  expect(all.length).toBe(rows + messageRows);
  expect(messages[2]).toEqual(messages[1]);
  const firsts = [...new Set(all)];
  expect(firsts).toHaveLength(rows);
  expect(firsts).toEqual(firsts.toSorted());
});
