import { perSource } from "@svc/seals";
import { seededRandom, waitUntil } from "@svc/test-support";
import fc from "fast-check";
import postgres from "postgres";
import { uuidv7 } from "uuidv7";
import { afterAll, expect, test } from "vitest";
import { webhookReceiver } from "../src/background/delivery/webhook.ts";
import { runDelivery } from "../src/background/run-delivery.ts";
import { connect, poolOf } from "../src/postgres/database.ts";
import { recordSeals } from "../src/postgres/seals/record-seals.ts";
import { sinks } from "../src/postgres/sinks.ts";
import { recorder } from "./decision-rows.ts";
import { aKey, auditConnection, marks } from "./sealing.ts";
import { startSinkReceiver } from "./sink-receiver.ts";
import { startPlane } from "./support.ts";

/** Transactions that commit in any order, seals at any moment, a receiver that fails, and processes that end. */
const plane = await startPlane();
const rows = await recorder(plane);
const service = connect({ url: plane.database.appUrl, maxConnections: 6, statementTimeoutMs: 5_000 });
const writers = postgres(plane.database.appUrl, { max: 6, onnotice: () => {} });
const admin = auditConnection(plane.database.superuserUrl);
const key = await aKey();
const hook = await startSinkReceiver();
const pool = poolOf(service, 5_000);
const proof = { authenticity: marks, keys: () => new Map() };
const seals = recordSeals({ pool, signingKey: async () => key, settleMs: perSource(() => 0), proof, maxRows: 3 });
afterAll(async () => {
  await hook.stop();
  await Promise.all([rows.sql.end(), service.end(), writers.end(), admin.end()]);
  await plane.stop();
});

const url = hook.url;
const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const receiver = webhookReceiver({ url, secret, format: "jsonl", authorization: undefined }, { nowMs: Date.now });
const aProcess = (maxItems: number) =>
  runDelivery({
    ...{ sinks: sinks({ pool, proof, leaseMs: 100 }), receiver, onFault: () => {}, maxItems },
    ...{ everyMs: 5, pauseMs: () => 5, deadlineMs: 2_000 },
  });

/** A transaction that has begun to write: its rows are those of its agent, made in this order. */
async function openTransaction(agent: string, count: number) {
  const [written, mayCommit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const ids: string[] = [];
  const ended = writers.begin(async (tx) => {
    await tx`select pg_current_xact_id()`;
    for (let n = 0; n < count; n++) {
      const row = rows.aRow({ acting_agent: agent, action_id: uuidv7() });
      await tx`insert into decision ${tx(row as never)}`;
      ids.push(row.action_id);
    }
    written.resolve();
    await mayCommit.promise;
  });
  await Promise.race([written.promise, ended]);
  const commit = async (): Promise<void> => {
    mayCommit.resolve();
    await ended;
  };
  return { ids, commit };
}

const arrived = (): readonly { agent: string; id: string }[] =>
  hook.lines().flatMap((line) => {
    const { row } = JSON.parse(line).leaf;
    return row.action_id === undefined ? [] : [{ agent: row.acting_agent, id: row.action_id }];
  });

const action = fc.oneof(
  fc.record({
    kind: fc.constant("write" as const),
    agent: fc.constantFrom("a", "b"),
    rows: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({ kind: fc.constant("commit" as const), which: fc.nat() }),
  fc.constant({ kind: "seal" as const }),
  fc.record({ kind: fc.constant("restart" as const), maxItems: fc.integer({ min: 1, max: 4 }) }),
);

test("every row arrives, and those of an agent in their order, whatever commits, fails and ends when", async () => {
  const runs = process.env.TEST_LONG === "true" ? 60 : 8;
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 4, maxLength: 18 }), fc.nat(), async (actions, seed) => {
      const random = seededRandom(seed);
      await waitUntil("earlier rows to be sealed", async () => {
        await seals.seal();
        return (await seals.oldestUnsealedMs()) === null;
      });
      await admin`delete from sink`;
      hook.reset();
      hook.answer(() => random.of([{ status: 204 }, { status: 204 }, { status: 503 }, { status: 413 }]));
      let processes = [aProcess(2)];
      const open: Awaited<ReturnType<typeof openTransaction>>[] = [];
      const written: string[] = [];
      await waitUntil("the sink to be registered", async () => (await admin`select from sink`).length === 1);
      for (const next of actions) {
        if (next.kind === "write" && open.length < 4) {
          const transaction = await openTransaction(next.agent, next.rows);
          open.push(transaction);
          written.push(...transaction.ids);
        }
        if (next.kind === "commit") await open.splice(next.which % (open.length || 1), 1)[0]?.commit();
        if (next.kind === "seal") await seals.seal();
        if (next.kind === "restart") {
          // Both run for a while: the one that ends is in the middle of something.
          const before = processes;
          processes = [aProcess(next.maxItems)];
          await Promise.all(before.map(({ close }) => close()));
        }
      }
      await Promise.all(open.map(({ commit }) => commit()));
      hook.answer(() => ({ status: 204 }));
      await waitUntil("every row to arrive", async () => {
        await seals.seal();
        const ids = new Set(arrived().map(({ id }) => id));
        return written.every((id) => ids.has(id));
      });
      await Promise.all(processes.map(({ close }) => close()));
      for (const agent of ["a", "b"]) {
        const firsts = [...new Set(arrived().flatMap((row) => (row.agent === agent ? [row.id] : [])))];
        expect(firsts).toEqual(firsts.toSorted());
      }
    }),
    { numRuns: runs },
  );
});
