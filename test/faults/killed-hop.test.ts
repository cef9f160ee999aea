import { createHash } from "node:crypto";
import { type Api, createApi, type HopAnswer, type HopLine } from "@svc/test-conformance/api";
import { clerkSession, registerLedger } from "@svc/test-conformance/ledger";
import {
  type ControlPlane,
  createDatabase,
  type OwnRedis,
  requires,
  startControlPlane,
  startFaultProxy,
  startOwnRedis,
  type TestDatabase,
  testBearers,
  waitUntil,
} from "@svc/test-support";
import postgres from "postgres";
import { afterAll, beforeAll, expect } from "vitest";

const { describe, test } = requires("redis-server");

describe("a control plane is killed while it takes hops in one trip", () => {
  let database: TestDatabase;
  let redis: OwnRedis;
  let sql: postgres.Sql;
  let survivor: ControlPlane;
  let api: Api;
  beforeAll(async () => {
    [database, redis] = await Promise.all([createDatabase(), startOwnRedis()]);
    sql = postgres(database.superuserUrl, { max: 3, onnotice: () => {} });
    survivor = await startOne();
    api = createApi(survivor.url, testBearers);
    await registerLedger(api, "books");
  });
  afterAll(async () => {
    await survivor.stop();
    await Promise.all([redis.stop(), sql.end()]);
    await database.drop();
  });

  const startOne = () => startControlPlane({ database, redis }, { SVC_ISSUER: "https://issuer.test" });

  /** Three calls of one session, each with its own token. */
  async function threeLines(): Promise<readonly HopLine[]> {
    const { session, clerk, hops } = await clerkSession(api, "books");
    const { body } = await api.renew(clerk.token, 3);
    return body.tokens.map((token: string) => ({ session_id: session, token, ...hops.read, body_settled: true }));
  }

  const claimsOf = ({ token }: HopLine): { jti: string; exp: number } =>
    JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
  const hashOf = (line: HopLine) => createHash("sha256").update(claimsOf(line).jti).digest();

  /** The statement that spends these tokens waits until `release`: another transaction may still spend them. */
  async function heldSpends(lines: readonly HopLine[]) {
    const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const rolledBack = sql
      .begin(async (tx) => {
        for (const line of lines) {
          await tx`insert into spend (jti_hash, action_id, session_id, kind, spent_at)
            values (${hashOf(line)}, ${crypto.randomUUID()}, ${line.session_id}, 'exchange', now())`;
        }
        held.resolve();
        await released.promise;
        throw new Error("rolled back");
      })
      .catch((fault) => held.reject(fault));
    await held.promise;
    return {
      async release() {
        released.resolve();
        await rolledBack;
      },
    };
  }

  const waiting = () => sql<{ pid: number }[]>`
    select pid from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like '%insert into spend%'`;

  /** Actions of the session's records, of its spends of these tokens, both in order. */
  async function recorded(lines: readonly HopLine[]) {
    const ids = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);
    const session = lines[0]?.session_id ?? "";
    return {
      allows: ids(
        await sql`select action_id as id from decision
        where session_id = ${session} and decision = 'allow' and target = ${lines[0]?.target ?? ""} order by id`,
      ),
      spends: ids(await sql`select action_id as id from spend where jti_hash in ${sql(lines.map(hashOf))} order by id`),
    };
  }

  const guardKeyOf = (line: HopLine) => `svc:guard:${hashOf(line).toString("base64url")}`;
  const isClaimed = async (line: HopLine) => (await redis.command("EXISTS", guardKeyOf(line))) === 1;
  const told = (answers: readonly HopAnswer[]) =>
    answers.map(({ authorize, exchange, sibling }) => [authorize?.status, exchange?.body.error, sibling]);
  const refused = Array(3).fill([200, "invalid_grant", undefined]);

  /** The request of three lines to a process that is killed while their statement waits. */
  async function killedBeforeCommit() {
    const victim = await startOne();
    const lines = await threeLines();
    const held = await heldSpends(lines);
    const answered = createApi(victim.url, testBearers)
      .hops(lines)
      .catch(() => "no answer");
    await waitUntil("the statement to wait", async () => (await waiting()).length > 0);
    await waitUntil("every token to be claimed", async () => (await Promise.all(lines.map(isClaimed))).every(Boolean));
    victim.kill("SIGKILL");
    await victim.exited;
    expect(await answered).toBe("no answer");
    return { lines, held };
  }

  test("before their commit: nothing is recorded, and no token serves another action while the guard's entry lives", async () => {
    const { lines, held } = await killedBeforeCommit();
    for (const { pid } of await waiting()) await sql`select pg_terminate_backend(${pid})`;
    await waitUntil("the statement to end", async () => (await waiting()).length === 0);
    await held.release();
    expect(await recorded(lines)).toEqual({ allows: [], spends: [] });
    expect(told(await api.hops(lines))).toEqual(refused);
    expect((await recorded(lines)).spends).toEqual([]);
    // The entry outlives its token.
    for (const line of lines) {
      const leftMs = claimsOf(line).exp * 1000 - Date.now();
      expect(Number(await redis.command("PTTL", guardKeyOf(line)))).toBeGreaterThan(leftMs);
    }
    for (const line of lines) await redis.command("DEL", guardKeyOf(line));
    expect((await api.hops(lines)).map(({ exchange }) => exchange?.status)).toEqual([200, 200, 200]);
  });

  test("and their statement commits without it: each record has its spend, and no token is taken again", async () => {
    const { lines, held } = await killedBeforeCommit();
    await held.release();
    await waitUntil("the commit", async () => (await recorded(lines)).spends.length > 0);
    const { allows, spends } = await recorded(lines);
    expect(spends).toEqual(allows);
    await redis.command("FLUSHALL");
    const again = await api.hops(lines);
    expect(again.filter(({ exchange }) => exchange?.status === 200)).toHaveLength(lines.length - allows.length);
    const after = await recorded(lines);
    expect(after.spends).toHaveLength(lines.length);
    expect(after.spends).toEqual(expect.arrayContaining([...allows]));
  });

  test("after their commit, before its answer arrives: records and spends are durable, and every token is refused", async () => {
    const victim = await startOne();
    const lines = await threeLines();
    const network = await startFaultProxy(Number(new URL(victim.url).port));
    network.spoil("/v1/hops", { kind: "stalled", afterBytes: 0 });
    const answered = createApi(`http://127.0.0.1:${network.port}`, testBearers)
      .hops(lines)
      .catch(() => "no answer");
    await waitUntil("the commit", async () => (await recorded(lines)).spends.length === lines.length);
    victim.kill("SIGKILL");
    await victim.exited;
    await network.stop();
    expect(await answered).toBe("no answer");
    const before = await recorded(lines);
    expect(before.allows).toEqual(before.spends);
    expect(told(await api.hops(lines))).toEqual(refused);
    await redis.command("FLUSHALL");
    expect(told(await api.hops(lines))).toEqual(refused);
    expect((await recorded(lines)).spends).toEqual(before.spends);
  });
});
