import { requires, testBearers, waitUntil } from "@svc/test-support";
import postgres from "postgres";
import { afterAll, expect, onTestFinished } from "vitest";
import type { Api } from "./src/api.ts";
import { pairForTests } from "./src/for-tests.ts";
import { type FollowOptions, follow, openWithoutReading, toPushed } from "./src/pushed.ts";
import { startOne } from "./src/stack.ts";

const { describe, test } = requires("redis-server");
const { one, other, database } = await pairForTests();
const sql = postgres(database.ownerUrl, { max: 2, onnotice: () => {} });
afterAll(() => sql.end());

const admin = (api: Api, method: string, path: string, body?: object) =>
  api.call(method, path, { bearer: testBearers.admin, ...(body && { body }) });

async function followed(api: Api, options: Partial<FollowOptions> = {}) {
  const stream = await follow(api.url, { bearer: testBearers.identity, ...options });
  onTestFinished(stream.close);
  await waitUntil("the first position", async () => stream.lastId() !== undefined);
  return stream;
}

let names = 0;
async function newAgent(): Promise<{ name: string; id: string }> {
  const name = `pushed-${++names}`;
  const { status, text, body } = await one.attest(name, { books: { hop_budget: 2 } });
  if (status !== 201) throw new Error(text);
  return { name, id: body.agent_id };
}

async function endedSession(api: Api): Promise<string> {
  const { session } = await one.consent("books");
  const { status } = await admin(api, "POST", `/v1/sessions/${session}/revoke`, {});
  expect(status).toBe(200);
  return session;
}

type Following = Awaited<ReturnType<typeof followed>>;
const sessionsOf = (stream: Following): readonly string[] =>
  stream.events().flatMap(({ data }) => (data.kind === "session_revoked" ? [data.session_id] : []));
const has = (stream: Following, session: string) =>
  waitUntil("the session's end", async () => sessionsOf(stream).includes(session));

describe("the push of revocations", () => {
  test("sends each kind of change at the other process too, as its members say", async () => {
    const stream = await followed(other);
    const { name, id } = await newAgent();
    await admin(one, "POST", `/v1/agents/${id}/revoke`, {});
    await admin(one, "PUT", "/v1/blocks/tool/http:books%2Fpost", { reason: "a test" });
    await admin(one, "DELETE", "/v1/blocks/tool/http:books%2Fpost");
    const { kid } = (await admin(one, "POST", "/v1/keys/rotate", {})).body;
    const session = await endedSession(one);
    await has(stream, session);
    const none = { session_id: null, agent: null, block: null, kid: null, not_before: null };
    const always = { event_id: expect.any(String), ts: expect.any(String) };
    const block = { kind: "tool", ref: "http:books/post" };
    expect(stream.events().map(({ data }) => data)).toEqual([
      { ...always, ...none, kind: "agent_revoked", agent: name },
      { ...always, ...none, kind: "block_set", block },
      { ...always, ...none, kind: "block_lifted", block },
      { ...always, ...none, kind: "key_rotated", kid },
      { ...always, ...none, kind: "session_revoked", session_id: session },
    ]);
    expect(stream.events().every(({ event, data }) => event === data.kind)).toBe(true);
    expect(stream.headers.get("content-type")).toBe("text/event-stream");
  });

  test.each(["identity", "audit", "admin", "enforcement"] as const)("is open to the %s bearer", async (plane) => {
    expect((await followed(one, { bearer: testBearers[plane] })).status).toBe(200);
  });

  test("sends an event that commits late, after later ones, once", async () => {
    const stream = await followed(one);
    const [late, prompt] = [crypto.randomUUID(), crypto.randomUUID()];
    const gate = Promise.withResolvers<void>();
    const written = Promise.withResolvers<void>();
    const slow = sql.begin(async (tx) => {
      await insertEvent(tx, late);
      written.resolve();
      await gate.promise;
    });
    await written.promise;
    await insertEvent(sql, prompt);
    await has(stream, prompt);
    expect(sessionsOf(stream)).toEqual([prompt]);
    // Its position is from before the late commit: a reader that resumes there gets it too.
    const resuming = stream.lastId();
    gate.resolve();
    await slow;
    await has(stream, late);
    await has(await followed(other, { lastEventId: resuming }), late);
    const last = await endedSession(one);
    await has(stream, last);
    expect(sessionsOf(stream)).toEqual([prompt, late, last]);
  });

  test("does not send what was rolled back", async () => {
    const stream = await followed(one);
    const rolledBack = crypto.randomUUID();
    await sql
      .begin(async (tx) => {
        await insertEvent(tx, rolledBack);
        throw new Error("rolled back");
      })
      .catch(() => {});
    const session = await endedSession(one);
    await has(stream, session);
    expect(sessionsOf(stream)).toEqual([session]);
  });

  test("resumes at any process from the last id, with what was missed", async () => {
    const stream = await followed(one);
    const seen = await endedSession(one);
    await has(stream, seen);
    await waitUntil("a position after it", async () => stream.received.at(-1)?.event === "heartbeat");
    const lastEventId = stream.lastId();
    await stream.close();
    const missed = [await endedSession(other), await endedSession(one)];
    const resumed = await followed(other, { lastEventId });
    await has(resumed, missed[1] ?? "");
    expect(sessionsOf(resumed)).toEqual(expect.arrayContaining(missed));
  });

  test("begins at since, and an agent that was revoked long before is among what is sent", async () => {
    const { name, id } = await newAgent();
    const { as_of: since } = (await admin(one, "POST", `/v1/agents/${id}/revoke`, {})).body;
    const session = await endedSession(one);
    const stream = await followed(other, { since });
    await has(stream, session);
    expect(stream.events().map(({ data }) => data.agent)).toContain(name);
    const old = crypto.randomUUID();
    await sql`insert into administrative_event (event_id, kind, ts, actor, agent)
      values ('0180a000-0000-7000-8000-000000000001', 'agent_revoked', '2022-05-01', 'a', ${old})`;
    const fromThen = await followed(one, { since: "2020-01-01T00:00:00Z" });
    await waitUntil("the old one", async () => fromThen.events().some(({ data }) => data.agent === old));
  });

  test("tells a reader whose position the database has not reached to read the lists again", async () => {
    const stream = await followed(one, { lastEventId: `999999999999.${Date.now()}` });
    expect(stream.events()).toEqual([{ event: "reset", id: undefined, data: {} }]);
    const session = await endedSession(one);
    await has(stream, session);
  });

  test.each(["x", "1", "1.2.3", "-1.2", `${"9".repeat(19)}.1`])("refuses the id %s", async (lastEventId) => {
    const stream = await follow(one.url, { bearer: testBearers.identity, lastEventId });
    expect(stream.status).toBe(400);
  });

  test("ends after what there is for a client that does not name the media type", async () => {
    const since = new Date().toISOString();
    const session = await endedSession(one);
    const { status, text } = await one.call("GET", `/v1/identity/revocations/stream?since=${since}`, {
      bearer: testBearers.identity,
    });
    expect(status).toBe(200);
    expect(toPushed(text).map(({ data }) => data.session_id)).toContain(session);
    expect(toPushed(text).at(-1)).toMatchObject({ event: "heartbeat", id: expect.any(String) });
  });
});

describe("a reader", () => {
  test("that does not read is cut with bounded memory, and resumes with what it missed or a reset", async () => {
    const reader = await resuming();
    const before = reader.lastId();
    const silent = await openWithoutReading(one.url, testBearers.identity);
    onTestFinished(silent.close);
    // What the kernel holds for a connection is some megabytes.
    const batches: string[] = [];
    while (batches.length < 20 && !silent.isCut()) {
      const first = crypto.randomUUID();
      await insertMany(9_000, first);
      await waitUntil("the batch", () => reader.has(first));
      batches.push(first);
    }
    expect(batches.length).toBeLessThan(20);
    const resumed = await followed(one, { lastEventId: before });
    const missed = batches.filter((each) => !sessionsOf(resumed).includes(each));
    if (missed.length > 0) expect(resumed.events()[0]).toMatchObject({ event: "reset" });
    const last = await endedSession(one);
    await has(resumed, last);
    await waitUntil("the session's end", () => reader.has(last));
  });

  test("whose process drains is ended, and resumes at another one", async () => {
    const alone = await startOne();
    onTestFinished(alone.stop);
    const stream = await followed(alone.api);
    const agent = (await alone.api.attest("draining", { books: { hop_budget: 2 } })).body.agent_id;
    await admin(alone.api, "POST", `/v1/agents/${agent}/revoke`, {});
    await waitUntil("the event", async () => stream.events().length > 0);
    alone.controlPlane.kill("SIGTERM");
    await stream.ended;
    expect(stream.events().map(({ data }) => data.agent)).toEqual(["draining"]);
  });
});

/** Reads, and resumes after its last position where it was cut, as a client does: on a busy machine it reads slowly too. */
async function resuming() {
  const earlier = new Set<string>();
  let stream = await followed(one);
  let isCut = false;
  const watch = () =>
    void stream.ended.then(() => {
      isCut = true;
    });
  watch();
  return {
    lastId: () => stream.lastId(),
    /** Its end was pushed, or a reset, after which the lists have it. */
    async has(session: string): Promise<boolean> {
      if (isCut) {
        for (const each of sessionsOf(stream)) earlier.add(each);
        isCut = false;
        stream = await followed(one, { lastEventId: stream.lastId() });
        watch();
        if (stream.events()[0]?.event === "reset") return true;
      }
      return earlier.has(session) || stream.received.some(({ data }) => data.session_id === session);
    },
  };
}

/** Of the first, the session is named. */
const insertMany = (count: number, first: string) => sql`
  with event as (
    insert into administrative_event (event_id, kind, ts, actor, session_id)
    select gen_random_uuid(), 'session_revoked', now(), 'a', case n when 1 then ${first}::uuid else gen_random_uuid() end
    from generate_series(1, ${count}::int) n returning event_id
  ) insert into pushed_event (event_id) select event_id from event`;

const insertEvent = (tx: postgres.ISql, session: string) => tx`
  with event as (
    insert into administrative_event (event_id, kind, ts, actor, session_id)
    values (gen_random_uuid(), 'session_revoked', now(), 'a', ${session}) returning event_id
  ) insert into pushed_event (event_id) select event_id from event`;
