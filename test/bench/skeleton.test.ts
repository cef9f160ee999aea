import { type KeyObject, verify } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { budgets, requires, waitUntil } from "@svc/test-support";
import postgres, { type Sql } from "postgres";
import { request } from "undici";
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { grouped } from "./src/reference/skeleton/grouped.ts";
import { post } from "./src/rig/admin.ts";
import { delegate, registerLine } from "./src/rig/agents.ts";
import { authorizeBody, hopLineText } from "./src/rig/hop-bodies.ts";
import { type RunningServer, startServer } from "./src/rig/node-server.ts";
import { insertRows, newRow, type Row } from "./src/rig/row-table.ts";
import { type Skeleton, startSkeleton } from "./src/rig/skeleton.ts";
import { readTool, startStack } from "./src/rig/stack.ts";
import { type Stores, startStores } from "./src/rig/stores.ts";

const { test } = requires("redis-server");

let upstream: RunningServer;
let stores: Stores;
let skeleton: Skeleton;
let sql: Sql;
const started: { stop(): Promise<unknown> }[] = [];
const use = <T extends { stop(): Promise<unknown> }>(one: T): T => {
  started.push(one);
  return one;
};

/** Requests that the tool received. */
let received: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
const tool = createServer(async (call, response) => {
  const chunks = await call.toArray();
  received.push({ headers: call.headers, body: Buffer.concat(chunks).toString() });
  response.writeHead(200, { "content-type": "text/plain", "x-tool": "bench" }).end("done");
});

beforeAll(async () => {
  await once(tool.listen(0, "127.0.0.1"), "listening");
  upstream = { url: `http://127.0.0.1:${(tool.address() as AddressInfo).port}`, pid: 0, stop: async () => {} };
  stores = use(await startStores());
  skeleton = await startSkeleton({ stores, upstream, use });
  sql = postgres(skeleton.databaseUrl, { max: 2 });
  use({ stop: () => sql.end() });
});
beforeEach(() => {
  received = [];
});
afterAll(async () => {
  for (const one of started.reverse()) await one.stop();
  tool.close().closeAllConnections();
});

async function hop(token: string) {
  const headers = { authorization: `Bearer ${token}`, "x-svc-session": skeleton.sessionId };
  const { statusCode, headers: fields, body } = await request(`${skeleton.enforcementPoint.url}/read`, { headers });
  return { status: statusCode, fields, text: await body.text() };
}

const read = { target: readTool.ref, targetKind: "tool", dataClass: "bench" } as const;

const rows = async () => (await sql<{ count: number }[]>`select count(*)::int from bench_row`)[0]?.count ?? Number.NaN;

const holds = (token: string, key: KeyObject): boolean => {
  const [header, payload, signature = ""] = token.split(".");
  const data = Buffer.from(`${header}.${payload}`);
  return verify("sha256", data, { key, dsaEncoding: "ieee-p1363" }, Buffer.from(signature, "base64url"));
};

test("a hop commits its two rows, and reaches the tool with a newly signed token", async () => {
  const before = await rows();
  const token = skeleton.tokens.take();
  expect(await hop(token)).toMatchObject({ status: 200, text: "done", fields: { "x-tool": "bench" } });
  expect((await rows()) - before).toBe(2);
  const presented = String(received[0]?.headers.authorization).slice("Bearer ".length);
  expect(presented).not.toBe(token);
  expect(holds(presented, skeleton.publicKey)).toBe(true);
  expect(received[0]?.headers["x-svc-session"]).toBe(skeleton.sessionId);
});

test("an agent's next call is made with the sibling of its token", async () => {
  const token = skeleton.tokens.take();
  const answers = [await hop(token), await hop(token)];
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
});

test("a token is spent once", async () => {
  const line = hopLineText(skeleton.sessionId, skeleton.tokens.take(), read);
  const answers = await ndjson(`${skeleton.controlPlane.url}/v1/hops`, line.repeat(3));
  expect(answers.filter(({ exchange }) => exchange?.status === 200)).toHaveLength(1);
});

async function ndjson(url: string, body: string): Promise<{ readonly exchange?: { readonly status: number } }[]> {
  const answer = await request(url, { method: "POST", headers: { "content-type": "application/x-ndjson" }, body });
  return (await answer.body.text())
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const kinds = {
  decision: () => {
    const { url } = skeleton.controlPlane;
    return post(
      `${url}/v1/authorize`,
      skeleton.tokens.take(),
      "application/json",
      authorizeBody(skeleton.sessionId, read),
    );
  },
  hop: () => {
    const { url } = skeleton.controlPlane;
    const line = hopLineText(skeleton.sessionId, skeleton.tokens.take(), read);
    return post(`${url}/v1/hops`, undefined, "application/x-ndjson", line);
  },
};

test.each(Object.entries(kinds))("no %s is answered before its rows are committed", async (_kind, ask) => {
  let isAnswered = false;
  const asking = await sql.begin(async (transaction) => {
    await transaction`lock table bench_row in access exclusive mode`;
    const answer = ask().then(() => {
      isAnswered = true;
    });
    await waitUntil("a row to wait for the table", async () => {
      const waiting =
        await sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%bench_row%'`;
      return waiting.length > 0;
    });
    expect(isAnswered).toBe(false);
    // As a member, since the transaction would await the promise itself.
    return { answer };
  });
  await asking.answer;
  expect(isAnswered).toBe(true);
});

test("a failed batch rejects each of its rows, and later rows are committed", async () => {
  const commit = grouped<Row>((batch) => insertRows(sql, batch));
  const row = newRow();
  const twice = await Promise.allSettled([commit(row), commit(row)]);
  expect(twice.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await commit(newRow());
  const before = await rows();
  await Promise.all(Array.from({ length: 100 }, () => commit(newRow())));
  expect((await rows()) - before).toBe(100);
});

test("the pass-through forwards requests and responses unchanged", async () => {
  const { url } = use(await startServer("reference/skeleton/pass-through.ts", [upstream.url]));
  const headers = { "content-type": "text/plain", "x-agent": "bench" };
  const answer = await request(`${url}/write`, { method: "POST", headers, body: "a body" });
  expect(await answer.body.text()).toBe("done");
  expect(answer).toMatchObject({ statusCode: 200, headers: { "x-tool": "bench" } });
  expect(received).toMatchObject([{ body: "a body", headers }]);
});

test("the skeleton's requests and responses have the length of the product's", async () => {
  const stack = use(await startStack({ stores, upstream: upstream.url, env: budgets({}) }));
  const line = await registerLine(stack.controlPlane.url, "bench", 1);
  const ours = await delegate(stack.controlPlane.url, line, 1);
  const real = await answersOf(stack.controlPlane.url, ours.sessionId, ours.token);
  const bare = await answersOf(skeleton.controlPlane.url, skeleton.sessionId, skeleton.tokens.take());
  for (const [what, length] of Object.entries(real)) expect([what, (bare[what] ?? 0) / length]).toEqual([what, near1]);
});

const near1 = expect.closeTo(1, 1);

/** Lengths of the token, of a decision's answer, and of a hop's. */
async function answersOf(url: string, sessionId: string, token: string): Promise<Readonly<Record<string, number>>> {
  const body = authorizeBody(sessionId, read);
  const decision = await post<object>(`${url}/v1/authorize`, token, "application/json", body);
  const line = hopLineText(sessionId, token, read);
  const hop = await post<object>(`${url}/v1/hops`, undefined, "application/x-ndjson", line);
  return { token: token.length, decision: JSON.stringify(decision).length, hop: JSON.stringify(hop).length };
}
