import { requires, waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, expect } from "vitest";
import type { Api } from "./src/api.ts";
import { clerkSession, ledgerHops, registerLedger } from "./src/ledger.ts";
import { blockForAMoment } from "./src/short-block.ts";
import { asOwner, type Pair, startPair } from "./src/stack.ts";

const { describe, test } = requires("redis-server");

let pair: Pair;
let one: Api;
let lostClerk: string;
const hops = ledgerHops("books");

beforeAll(async () => {
  // The decision point then returns one response without a record.
  pair = await startPair({ SVC_OBSERVE_SCOPES: "none" });
  one = pair.one;
  await registerLedger(one, "books");
  await registerLedger(one, "lost-books");
  const { body } = await one.call("GET", "/v1/agents/resolve?name=clerk-lost-books", { bearer: one.tokens.admin });
  lostClerk = body.agent_id;
});
afterAll(() => pair.stop());

const admin = (method: string, path: string, body?: object) =>
  pair.other.call(method, path, { bearer: pair.other.tokens.admin, ...(body && { body }) });

/** A session whose state the first process has cached for the calls that follow. */
async function warmSession(scope: string) {
  const { session, clerk, hops } = await clerkSession(one, scope);
  const { body } = await one.authorize(session, clerk.token, hops.read);
  expect(body).toMatchObject({ decision: "allow" });
  return { session, token: clerk.token, hop: hops.read, actionId: body.action_id as string };
}
type Warm = Awaited<ReturnType<typeof warmSession>>;

interface Change {
  readonly name: string;
  readonly scope?: string;
  /** At the other process, so that the first one can learn of it only from the database. */
  readonly change: (warm: Warm) => Promise<{ readonly status: number }>;
  readonly undo?: () => Promise<unknown>;
  readonly reason: string;
}

const pathOf = (kind: string, ref: string) => `/v1/blocks/${kind}/${encodeURIComponent(ref)}`;
const block = (kind: string, ref: string) => ({
  change: () => admin("PUT", pathOf(kind, ref), { reason: "an incident" }),
  undo: () => admin("DELETE", pathOf(kind, ref)),
  reason: "TARGET_BLOCKED",
});

const changes: readonly Change[] = [
  {
    name: "its session was ended",
    change: ({ session }) => admin("POST", `/v1/sessions/${session}/revoke`),
    reason: "SESSION_REVOKED",
  },
  { name: "its tool was blocked", ...block("tool", hops.read.target) },
  { name: "its agent was blocked", ...block("agent", hops.clerk.target) },
  { name: "its scope was blocked", ...block("scope", "books") },
  {
    name: "its agent was revoked",
    scope: "lost-books",
    change: () => admin("POST", `/v1/agents/${lostClerk}/revoke`),
    reason: "AGENT_REVOKED",
  },
];

describe.each(changes)("a process with a cached token state learns that $name at another process", (row) => {
  const { scope = "books", change, undo, reason } = row;

  test("at its next decision and at its next exchange, which spends nothing", async () => {
    const [deciding, exchanging] = [await warmSession(scope), await warmSession(scope)];
    expect((await change(deciding)).status).toBeLessThan(300);
    if (reason === "SESSION_REVOKED") await change(exchanging);
    try {
      const { body } = await one.authorize(deciding.session, deciding.token, deciding.hop);
      expect(body).toMatchObject({ decision: "deny", deny_reason: reason });
      const refused = await one.exchange(exchanging.token, exchanging.hop, exchanging.actionId);
      expect([refused.status, refused.body.error]).toEqual([403, "invalid_target"]);
      expect(await spendsOf(exchanging.actionId)).toBe(0);
    } finally {
      await undo?.();
    }
  });
});

async function spendsOf(actionId: string): Promise<number> {
  const [row] = await asOwner(
    pair.database,
    (sql) => sql<{ count: number }[]>`select count(*)::int as count from spend where action_id = ${actionId}`,
  );
  return row?.count ?? Number.NaN;
}

test("a process with a cached token state learns that the person became tainted at another process", async () => {
  const { session, token: root } = await one.consent("books");
  const planner = await one.hop(session, root, hops.planner);
  const clerk = await one.hop(session, planner.token, hops.clerk);
  const [forPost, forBrowse, spare] = (await one.renew(clerk.token, 3)).body.tokens;
  expect((await one.authorize(session, forPost, hops.post)).body).toMatchObject({ decision: "allow" });
  await pair.other.hop(session, forBrowse, hops.browse);
  const { body } = await one.authorize(session, spare, hops.post);
  expect(body).toMatchObject({ decision: "deny", deny_reason: "TAINT_BLOCKED", taint: "untrusted_external" });
});

test("a cached block ends when another process lifts it", async () => {
  const { session, token, hop } = await warmSession("books");
  await admin("PUT", pathOf("tool", hop.target), { reason: "an incident" });
  expect((await one.authorize(session, token, hop)).body).toMatchObject({ decision: "deny" });
  await admin("DELETE", pathOf("tool", hop.target));
  expect((await one.authorize(session, token, hop)).body).toMatchObject({ decision: "allow" });
});

test("a cached block ends at its end time", async () => {
  const { session, token, hop } = await warmSession("books");
  const decision = async () => (await one.authorize(session, token, hop)).body.decision;
  const until = await blockForAMoment(
    (until) => admin("PUT", pathOf("tool", hop.target), { reason: "an incident", until }),
    async () => (await decision()) === "deny",
  );
  await waitUntil("the block to lapse", async () => (await decision()) === "allow");
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(until));
});

describe("a response without a record never depends on cached state", () => {
  /** Removed at the other process, so that this one still caches the key that signed the token. */
  async function withSigningKeyGone() {
    const warm = await warmSession("books");
    const { body } = await admin("GET", "/v1/keys");
    for (const { kid } of body.data) expect((await admin("DELETE", `/v1/keys/${kid}`)).status).toBe(204);
    return warm;
  }

  test("a token of a removed key is 401 at the decision point, which does not reveal the decision", async () => {
    const { session, token, hop } = await withSigningKeyGone();
    const answer = await one.authorize(session, token, hop, { enforced: false });
    expect([answer.status, answer.body.error.code]).toEqual([401, "unauthorized"]);
  });

  test("a token of a removed key is invalid_request at the exchange, which does not reveal whether the action exists", async () => {
    const { token, hop } = await withSigningKeyGone();
    const answer = await one.exchange(token, hop, crypto.randomUUID());
    expect([answer.status, answer.body.error]).toEqual([400, "invalid_request"]);
  });
});

test("a spent token is invalid_grant, also where its call is denied by now, and adds no record", async () => {
  const { session, token, hop, actionId } = await warmSession("books");
  expect((await one.exchange(token, hop, actionId)).status).toBe(200);
  const recorded = async () => (await one.decisions(`session_id=${session}`)).body.data.length;
  const before = await recorded();
  await admin("PUT", pathOf("tool", hop.target), { reason: "an incident" });
  try {
    for (const at of [one, pair.other]) {
      const replayed = await at.exchange(token, hop, actionId);
      expect([replayed.status, replayed.body.error]).toEqual([400, "invalid_grant"]);
    }
    expect(await recorded()).toBe(before);
  } finally {
    await admin("DELETE", pathOf("tool", hop.target));
  }
});
