import { testBearers } from "@svc/test-support";
import { describe, expect, test } from "vitest";
import { identitiesForTests } from "./src/identities-for-tests.ts";
import { clerkSession, ledgerHops, registerLedger } from "./src/ledger.ts";

const stack = await identitiesForTests();

describe("a revocation", () => {
  test("returns the identity, is final, and keeps its first reason", async () => {
    const agent = await stack.newAgent();
    const first = await stack.revoke(agent, { reason: "leaked key" });
    expect(first).toMatchObject({
      status: 200,
      body: {
        agent,
        status: "revoked",
        anchor_version: 0,
        jwks: { keys: [] },
        revoked: true,
        revoked_reason: "leaked key",
        as_of: expect.stringMatching(/\.\d{3}Z$/),
      },
    });
    expect((await stack.revoke(agent, { reason: "again" })).body).toEqual(first.body);
    expect((await stack.identity(agent)).body).toEqual(first.body);
  });

  test("needs no body", async () => {
    const { body } = await stack.identity(await stack.newAgent());
    const answer = await stack.api.call("POST", `/v1/agents/${body.agent_id}/revoke`, { bearer: testBearers.admin });
    expect(answer).toMatchObject({ status: 200, body: { revoked: true, revoked_reason: null } });
  });

  test("is one event and one count, also for repeated and parallel requests", async () => {
    const count = async () => {
      const { text } = await stack.api.call("GET", "/metrics");
      return Number(/^svc_revocations_total (\d+)$/m.exec(text)?.[1] ?? 0);
    };
    const [agent, before] = [await stack.newAgent(), await count()];
    const answers = await Promise.all(Array.from({ length: 8 }, () => stack.revoke(agent, { reason: "r" })));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await count()).toBe(before + 1);
    const query = new URLSearchParams({ agent, kind: "agent_revoked" });
    const events = await stack.api.call("GET", `/v1/audit/events?${query}`, { bearer: testBearers.audit });
    expect(events.body.data).toMatchObject([{ kind: "agent_revoked", actor: "admin", agent, reason: "r" }]);
  });

  test("replaces the denial epoch, and a second one does not", async () => {
    const epoch = async () => (await stack.sql`select epoch from denial_epoch`)[0]?.epoch;
    const [agent, before] = [await stack.newAgent(), await epoch()];
    await stack.revoke(agent);
    const after = await epoch();
    expect(after).not.toBe(before);
    await stack.revoke(agent);
    expect(await epoch()).toBe(after);
  });

  test.each(["01900000-0000-7000-8000-000000000000", "x", "..%2f"])("of %s is not found", async (id) => {
    const answer = await stack.api.call("POST", `/v1/agents/${id}/revoke`, { bearer: testBearers.admin, body: {} });
    expect([answer.status, answer.body.error.code]).toEqual([404, "agent_not_found"]);
  });

  test.each([{ reason: "" }, { reason: "a\0" }, { reason: 1 }, { why: "x" }, []])(
    "with %j is refused",
    async (body) => {
      const agent = await stack.newAgent();
      expect((await stack.revoke(agent, body)).status).toBe(400);
      expect((await stack.identity(agent)).body.revoked).toBe(false);
    },
  );
});

describe("after a revocation returns, every hop is refused", () => {
  let scopeCount = 0;
  async function session() {
    const scope = `ledger-${++scopeCount}`;
    await registerLedger(stack.api, scope);
    return { scope, ...(await clerkSession(stack.api, scope)) };
  }
  const refusals = async (stage: string) => {
    const { text } = await stack.api.call("GET", "/metrics");
    return Number(
      new RegExp(`^svc_revoked_hop_refusals_total\\{stage="${stage}"\\} (\\d+)$`, "m").exec(text)?.[1] ?? 0,
    );
  };

  test.each(["planner", "clerk"] as const)("with the %s in the chain", async (member) => {
    const { session: id, clerk, hops } = await session();
    const [forExchange, forRenewal, forMint, spare] = (await stack.api.renew(clerk.token, 4)).body.tokens;
    const action = (await stack.api.authorize(id, forExchange, hops.read)).body.action_id;
    const post = await stack.api.hop(id, forMint, hops.post);
    const before = [await refusals("decide"), await refusals("exchange")];
    expect((await stack.revoke(hops[member].target)).status).toBe(200);

    expect((await stack.api.authorize(id, spare, hops.read)).body.deny_reason).toBe("AGENT_REVOKED");
    const exchanged = await stack.api.exchange(forExchange, hops.read, action);
    expect([exchanged.status, exchanged.body.error]).toEqual([403, "invalid_target"]);
    const details = { deny_reason: "AGENT_REVOKED" };
    const renewed = await stack.api.renew(forRenewal, 1);
    expect(renewed.body).toMatchObject({ error: { code: "renewal_refused" }, details });
    expect((await stack.api.mint(post.token, post.action, {})).body).toMatchObject({
      error: { code: "mint_refused" },
      details,
    });
    expect([await refusals("decide"), await refusals("exchange")]).toEqual(before.map((n) => n + 1));
  });

  test("with the agent as the target", async () => {
    const { scope, session: id, root } = await session();
    const { planner } = ledgerHops(scope);
    const again = await stack.api.consent(scope);
    const before = await refusals("decide");
    await stack.revoke(planner.target);
    expect((await stack.api.authorize(again.session, again.token, planner)).body.deny_reason).toBe("AGENT_REVOKED");
    expect((await stack.api.authorize(id, root, planner)).body.deny_reason).toBe("AGENT_REVOKED");
    expect(await refusals("decide")).toBe(before + 2);
  });

  test("with the agent as the lender of a tool at hop 1", async () => {
    const [scope, lender] = [`lent-${++scopeCount}`, `lender-${scopeCount}`];
    const tool = { ref: `http:${scope}/read`, data_classes: ["finance.entries"] };
    expect((await stack.api.attest(lender, { [scope]: { hop_budget: 2, tools: [tool] } })).status).toBe(201);
    const { session: id, token } = await stack.api.consent(scope);
    const before = await refusals("decide");
    await stack.revoke(lender);
    const call = { target: tool.ref, target_kind: "tool", data_class: "finance.entries" } as const;
    expect((await stack.api.authorize(id, token, call)).body.deny_reason).toBe("AGENT_REVOKED");
    expect(await refusals("decide")).toBe(before + 1);
  });

  test("that raced the revocation: an exchanged token is refused at its next use", async () => {
    const { session: id, clerk, hops } = await session();
    const tokens: string[] = (await stack.api.renew(clerk.token, 8)).body.tokens;
    const actions = await Promise.all(tokens.map((token) => stack.api.authorize(id, token, hops.post)));
    const racing = tokens.map((token, n) => stack.api.exchange(token, hops.post, actions[n]?.body.action_id));
    await stack.revoke(hops.clerk.target);
    const answers = await Promise.all(racing);
    expect(answers.map(({ status }) => status).filter((status) => status !== 200 && status !== 403)).toEqual([]);
    for (const [n, { status, body }] of answers.entries()) {
      if (status !== 200) continue;
      const minted = await stack.api.mint(body.access_token, actions[n]?.body.action_id, {});
      expect(minted.body.error.code).toBe("mint_refused");
    }
  });
});

describe("a conditional request for an identity", () => {
  const etagOf = async (agent: string) => (await stack.identity(agent)).headers.get("etag") ?? "";

  test("is 304 without a body until the identity changes", async () => {
    const agent = await stack.newAgent();
    const first = await stack.identity(agent);
    const etag = first.headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[\w-]+"$/);
    expect(first.headers.get("cache-control")).toBe("private, no-cache");
    const unchanged = await stack.identity(agent, { "if-none-match": etag });
    expect([unchanged.status, unchanged.text, unchanged.headers.get("etag")]).toEqual([304, "", etag]);
    expect((await stack.identity(agent, { "if-none-match": '"other"' })).status).toBe(200);
    await stack.revoke(agent);
    const changed = await stack.identity(agent, { "if-none-match": etag });
    expect(changed).toMatchObject({ status: 200, body: { revoked: true } });
    expect(await etagOf(agent)).not.toBe(etag);
  });

  test("works by id, with a list of tags and with a weak tag", async () => {
    const { body, headers } = await stack.identity(await stack.newAgent());
    const etag = headers.get("etag") ?? "";
    for (const sent of [etag, `W/${etag}`, `"x", ${etag}`]) {
      const answer = await stack.api.call("GET", `/v1/identity/agents/by-id/${body.agent_id}`, {
        bearer: testBearers.identity,
        raw: { headers: { "if-none-match": sent } },
      });
      expect(answer.status).toBe(304);
    }
  });

  test("is 401 without a bearer, with any tag", async () => {
    const agent = await stack.newAgent();
    const etag = await etagOf(agent);
    for (const tag of [etag, "*"]) {
      const raw = { headers: { "if-none-match": tag } };
      expect((await stack.api.call("GET", `/v1/identity/agents/${agent}`, { raw })).status).toBe(401);
      expect(
        (await stack.api.call("GET", "/v1/identity/agents/nobody", { bearer: testBearers.admin, raw })).status,
      ).toBe(404);
    }
  });
});
