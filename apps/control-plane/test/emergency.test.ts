import { aManifest, aTool, patience, waitUntil } from "@svc/test-support";
import { uuidv7 } from "uuidv7";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, DatabaseUnavailable, poolOf, type Sql, waitingUpTo } from "../src/postgres/database.ts";
import { type DenialChanges, denialChanges } from "../src/postgres/denial-changes.ts";
import type { Deps } from "../src/routes/deps.ts";
import { type Answer, query, registerAgent, startPlane, type TestApp } from "./support.ts";

/** For a call, whose whole commit ends before its caller stops waiting. */
const ordinaryLockMs = 300;
const ordinaryCommitMs = 900;

let plane: Awaited<ReturnType<typeof startPlane>>;
beforeAll(async () => {
  // The fewest connections: acts in an emergency and calls must not wait for each other's.
  const { lock } = patience.controlPlane;
  patience.controlPlane.lock = ordinaryLockMs;
  plane = await startPlane({ SVC_DATABASE_CONNECTIONS: "10" });
  patience.controlPlane.lock = lock;
  const tools = [aTool("http:ledger/read"), aTool("http:ledger/pay", { privileged: true, access: "write" })];
  await registerAgent(plane, "planner", aManifest("expenses", { hop_budget: 2, tools }));
});
afterAll(() => plane.stop());

/** Agents of a scope that no session here uses. */
async function strangers(count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let made = 0; made < count; made++) {
    const name = `stranger-${uuidv7()}`;
    const { json } = await registerAgent(
      plane,
      name,
      aManifest(`scope-${name}`, { tools: [aTool("http:other/read")] }),
    );
    ids.push(String(json.agent_id));
  }
  return ids;
}

const revoke = (agentId: string) => plane.send(`/v1/agents/${agentId}/revoke`, { body: {} });
const block = (ref: string) =>
  plane.send(`/v1/blocks/tool/${encodeURIComponent(ref)}`, { method: "PUT", body: { reason: "incident" } });
const consent = () => plane.send("/v1/consent", { body: { scope: "expenses", user_sub: "ada" } });
const okay = (answers: readonly Answer[]) => answers.map(({ status, text }) => (status < 300 ? "ok" : text));

const privileged = { target: "http:ledger/pay", target_kind: "tool", data_class: "finance.entries" };

/** The four calls of a hop, in order, each with what the earlier ones gave. */
async function hopOf(app: TestApp): Promise<readonly Answer[]> {
  const { json: session } = await consent();
  const token = String(session.root_grant);
  const decided = await app.send("/v1/authorize", { token, body: { session_id: session.session_id, ...privileged } });
  const exchanged = await app.send("/v1/token/exchange", {
    token: "",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: token,
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      resource: privileged.target,
      scope: privileged.data_class,
      action_id: String(decided.json.action_id),
    }).toString(),
  });
  const minted = await app.send("/v1/token/transaction", {
    token: String(exchanged.json.access_token),
    body: { action_id: decided.json.action_id, params: { amount: "1" } },
  });
  const other = await consent();
  const renewed = await app.send("/v1/token/renew", { token: String(other.json.root_grant), body: { count: 1 } });
  return [decided, exchanged, minted, renewed];
}

describe("acts in an emergency", () => {
  test("wait for their turn longer than any call, and all succeed", async () => {
    const ids = await strangers(30);
    const { json: session } = await consent();
    const other = connect({ url: plane.database.superuserUrl, maxConnections: 1, statementTimeoutMs: 60_000 });
    try {
      const acts: Promise<Answer>[] = [];
      await other.begin(async (tx) => {
        await tx`select from denial_epoch for update`;
        await tx`select from session_state where session_id = ${String(session.session_id)} for update`;
        acts.push(...ids.map(revoke), ...["http:a", "http:b"].map(block));
        acts.push(plane.send("/v1/keys/rotate", { body: {} }));
        acts.push(plane.send(`/v1/sessions/${session.session_id}/revoke`, { body: {} }));
        // A transaction that waits as long as the whole commit of a call gives up meanwhile.
        const call = plane.stores.writer.transaction(async (own) => {
          await waitingUpTo(own, ordinaryCommitMs);
          await own`select from denial_epoch for update`;
        });
        await expect(call).rejects.toThrow(DatabaseUnavailable);
      });
      expect(okay(await Promise.all(acts))).toEqual(acts.map(() => "ok"));
    } finally {
      await other.end();
    }
  });

  test("hold one connection of the process, so that calls go through meanwhile", async () => {
    const ids = await strangers(12);
    const other = connect({ url: plane.database.superuserUrl, maxConnections: 1, statementTimeoutMs: 60_000 });
    try {
      let acts: Promise<Answer>[] = [];
      await other.begin(async (tx) => {
        await tx`select from denial_epoch for update`;
        acts = ids.map(revoke);
        await waitUntil("an act to wait for its turn", isActWaiting);
        expect(okay(await hopOf(plane))).toEqual(["ok", "ok", "ok", "ok"]);
      });
      expect(okay(await Promise.all(acts))).toEqual(ids.map(() => "ok"));
    } finally {
      await other.end();
    }
  });
});

/** Of this test's database. */
async function isActWaiting(): Promise<boolean> {
  const waiting = await query(
    plane.database.superuserUrl,
    "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
  );
  return waiting.length > 0;
}

describe("a change that does not concern a session", () => {
  let connection: Sql;
  let elsewhere: DenialChanges;
  beforeAll(() => {
    connection = connect({ url: plane.database.appUrl, maxConnections: 1, statementTimeoutMs: 60_000 });
    elsewhere = denialChanges(poolOf(connection, 60_000));
  });
  afterAll(() => connection.end());

  /** After every read of a session's state another process changes the denials, or waits until it may. */
  function overtaken(): Deps["sessionState"] {
    const { sessionState } = plane.deps;
    return {
      ...sessionState,
      cached: () => undefined,
      async read(query) {
        const state = await sessionState.read(query);
        let isChanged = false;
        void elsewhere
          .change((tx) => tx`update denial_epoch set epoch = gen_random_uuid()`)
          .then(() => {
            isChanged = true;
          });
        await waitUntil("the change to be made or to wait", async () => isChanged || (await isActWaiting()));
        return state;
      },
    };
  }

  test("never refuses a call, however often it comes first", async () => {
    const app = plane.with({ sessionState: overtaken() });
    expect(okay(await hopOf(app))).toEqual(["ok", "ok", "ok", "ok"]);
  });

  test("never refuses one of fifty hops beside thirty revocations", async () => {
    const ids = await strangers(30);
    const hops = Array.from({ length: 50 }, () => hopOf(plane));
    const revoked = ids.map(revoke);
    expect(okay(await Promise.all(revoked))).toEqual(ids.map(() => "ok"));
    expect((await Promise.all(hops)).flatMap(okay)).toEqual(hops.flatMap(() => ["ok", "ok", "ok", "ok"]));
  });
});
