import { describe, expect, test } from "vitest";
import { oneForTests } from "./src/for-tests.ts";
import { clerkSession, ledgerHops } from "./src/ledger.ts";
import { sessionsOf } from "./src/sessions.ts";
import { asOwner } from "./src/stack.ts";

const stack = await oneForTests();
const { api } = stack;
const sessions = sessionsOf(stack);
const hops = ledgerHops("books");

describe("a session", () => {
  test("shows who was marked, by which target, and when: agents by name, the person under null", async () => {
    const { session, clerk } = await clerkSession(api, "books");
    const { action } = await api.hop(session, clerk.token, hops.browse);
    const mark = {
      taint: "untrusted_external",
      source: hops.browse.target,
      enforced: true,
      action_id: action,
      ts: expect.stringMatching(/\.\d{3}Z$/),
    };
    const { taint_marks: marks } = (await sessions.read(session)).body;
    expect(marks).toHaveLength(2);
    for (const agent of [hops.clerk.target, hops.planner.target]) expect(marks).toContainEqual({ agent, ...mark });

    await api.attest("surfer", {
      surf: {
        hop_budget: 2,
        tools: [{ ref: "http:surf/get", data_classes: ["web"], result_taint: "untrusted_external" }],
      },
    });
    const human = await api.consent("surf");
    await api.hop(human.session, human.token, { target: "http:surf/get", target_kind: "tool", data_class: "web" });
    expect((await sessions.read(human.session)).body.taint_marks).toMatchObject([
      { agent: null, source: "http:surf/get" },
    ]);
  });
});

describe("revoking a session", () => {
  test("ends it for decision, exchange, renewal and mint, from the next request on", async () => {
    const { session, clerk } = await clerkSession(api, "books");
    const [forExchange, forRenewal, forMint, spare] = (await api.renew(clerk.token, 4)).body.tokens;
    const allow = (await api.authorize(session, forExchange, hops.read)).body.action_id;
    const post = await api.hop(session, forMint, hops.post);

    const revoked = await sessions.revoke(session, { reason: "left the company" });
    expect(revoked.status).toBe(200);
    expect(revoked.body).toMatchObject({
      session_id: session,
      status: "revoked",
      revoked_by: "admin",
      revoked_reason: "left the company",
      taint_marks: [],
    });

    expect((await api.authorize(session, spare, hops.read)).body.deny_reason).toBe("SESSION_REVOKED");
    const exchanged = await api.exchange(forExchange, hops.read, allow);
    expect([exchanged.status, exchanged.body.error]).toEqual([403, "invalid_target"]);
    const renewed = await api.renew(forRenewal, 1);
    expect([renewed.status, renewed.body.details.deny_reason]).toEqual([403, "SESSION_REVOKED"]);
    const minted = await api.mint(post.token, post.action, {});
    expect([minted.status, minted.body.details.deny_reason]).toEqual([403, "SESSION_REVOKED"]);
    const spent = await asOwner(stack.database, (sql) => sql`select from spend where action_id = ${allow}`);
    expect(spent.count).toBe(0);
  });

  test("twice changes and records nothing the second time", async () => {
    const session = await sessions.consentOf("ada");
    const first = await sessions.revoke(session, { reason: "first" });
    const second = await sessions.revoke(session, { reason: "second" });
    expect(second.body).toEqual(first.body);
    expect(await sessions.endsOf(session)).toEqual([{ actor: "admin", reason: "first", details: {} }]);
  });

  test("needs no body, and twenty times at once records one end", async () => {
    const session = await sessions.consentOf("ada");
    const answers = await Promise.all(Array.from({ length: 20 }, () => sessions.revoke(session)));
    expect(answers.map(({ status, body }) => [status, body.status])).toEqual(Array(20).fill([200, "revoked"]));
    expect(await sessions.endsOf(session)).toHaveLength(1);
  });

  test("that has expired leaves it expired", async () => {
    const session = await sessions.insertExpired("ada");
    expect((await sessions.revoke(session)).body.status).toBe("expired");
    expect(await sessions.endsOf(session)).toEqual([]);
  });

  test.each([
    ["an unknown member", { why: "x" }, ""],
    ["a reason with NUL", { reason: "a\0" }, "reason"],
    ["an empty reason", { reason: "" }, "reason"],
  ])("refuses %s", async (_name, body, path) => {
    const answer = await sessions.revoke(await sessions.consentOf("ada"), body);
    expect([answer.status, answer.body.error.code, answer.body.details.issues[0].path]).toEqual([
      400,
      "invalid_request",
      path,
    ]);
  });

  test("issues no token after it returns, also for racing exchanges", async () => {
    const { session, clerk } = await clerkSession(api, "books");
    const tokens: string[] = (await api.renew(clerk.token, 8)).body.tokens;
    const allows = await Promise.all(
      tokens.map(async (token) => (await api.authorize(session, token, hops.read)).body.action_id as string),
    );
    let answered = false;
    const ended = sessions.revoke(session).then(() => {
      answered = true;
    });
    const late = await Promise.all(
      tokens.map(async (token, index) => {
        const startedAfter = answered;
        const { status } = await api.exchange(token, hops.read, allows[index] ?? "");
        return { startedAfter, status };
      }),
    );
    await ended;
    for (const { startedAfter, status } of late) expect(startedAfter ? [403] : [200, 403]).toContain(status);
    const [spare] = allows;
    expect((await api.exchange(tokens[0] ?? "", hops.read, spare ?? "")).status).not.toBe(200);
  });
});

test("a consent to a policy of an older schema is 409 until a manifest of the scope is submitted again", async () => {
  const body = { scope: "aged", user_sub: "ada" };
  const consent = () => api.call("POST", "/v1/consent", { bearer: api.tokens.admin, body });
  await api.attest("ager", { aged: { hop_budget: 2 } });
  await asOwner(
    stack.database,
    (sql) => sql`
      insert into compiled_policy select scope, 2, 0, document, created_at from compiled_policy where scope = 'aged'`,
  );
  const refused = await consent();
  expect([refused.status, refused.body.error.code]).toEqual([409, "policy_recompile_required"]);
  const manifest = { scopes: { aged: { hop_budget: 2 } } };
  await api.call("POST", "/v1/manifests", {
    bearer: api.tokens.admin,
    body: { agent: "ager", manifest, override: {} },
  });
  const granted = await consent();
  expect([granted.status, granted.body.policy_version]).toEqual([201, 3]);
});
