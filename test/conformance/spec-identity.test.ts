import { describe, expect, test } from "vitest";
import { enrolling, newKey } from "./src/enrollment.ts";
import { deploymentForTests } from "./src/for-tests.ts";
import { clerkSession, registerLedger } from "./src/ledger.ts";

const { api, name: nameFor } = await deploymentForTests();
const { issuer } = (await api.call("GET", "/.well-known/oauth-authorization-server")).body;

const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const readIdentity = (path: string) => api.call("GET", `/v1/identity/${path}`, { bearer: api.tokens.identity });

async function newAgent(): Promise<{ name: string; id: string }> {
  const name = nameFor("agent");
  const { body } = await api.attest(name, { [nameFor("scope")]: { hop_budget: 1 } });
  return { name, id: body.agent_id };
}

describe("an agent's identity", () => {
  test("is none before its enrollment, by name and by id", async () => {
    const { name, id } = await newAgent();
    const byName = await readIdentity(`agents/${name}`);
    expect({ status: byName.status, body: byName.body }).toEqual({
      status: 200,
      body: {
        agent_id: id,
        agent: name,
        status: "none",
        anchor_version: 0,
        jwks: { keys: [] },
        revoked: false,
        revoked_reason: null,
        as_of: timestamp,
      },
    });
    expect((await readIdentity(`agents/by-id/${id}`)).body).toMatchObject({
      agent_id: id,
      agent: name,
      status: "none",
    });
  });

  test.each(["agents/nobody-at-all", "agents/by-id/01900000-0000-7000-8000-000000000000", "agents/by-id/x"])(
    "is 404 for %s",
    async (path) => {
      const answer = await readIdentity(path);
      expect([answer.status, answer.body.error.code]).toEqual([404, "agent_not_found"]);
    },
  );
});

describe("an enrollment", () => {
  test("without a person's assertion ends in quarantine, with its reason", async () => {
    const { name } = await newAgent();
    const { begin, complete, prove } = enrolling(api);
    const key = await newKey();
    const begun = await begin(name, { key });
    expect({ status: begun.status, body: begun.body }).toEqual({
      status: 201,
      body: { enrollment_id: expect.any(String), challenge: expect.any(String), expires_at: timestamp },
    });
    const proof = await prove(name, key, begun.body.challenge, { audience: issuer });
    const completed = await complete(begun.body.enrollment_id, proof);
    expect({ status: completed.status, body: completed.body }).toEqual({
      status: 200,
      body: { status: "quarantined", reason: "NO_PRINCIPAL" },
    });
    expect((await readIdentity(`agents/${name}`)).body).toMatchObject({ status: "quarantined", revoked: false });
  });

  test("that ends in quarantine denies every chain through the agent from the next decision on", async () => {
    const scope = nameFor("doubtful");
    await registerLedger(api, scope);
    const { session, clerk, hops } = await clerkSession(api, scope);
    const { action_id } = (await api.authorize(session, clerk.token, hops.read)).body;
    const { begin, complete, prove } = enrolling(api);
    const key = await newKey();
    const begun = (await begin(hops.planner.target, { key })).body;
    await complete(begun.enrollment_id, await prove(hops.planner.target, key, begun.challenge, { audience: issuer }));
    expect((await api.authorize(session, clerk.token, hops.read)).body).toMatchObject({
      decision: "deny",
      deny_reason: "AGENT_QUARANTINED",
      recoverable: false,
    });
    const exchanged = await api.exchange(clerk.token, hops.read, action_id);
    expect([exchanged.status, exchanged.body.error]).toEqual([403, "invalid_target"]);
  });

  test("takes a proof by its own key alone", async () => {
    const { name } = await newAgent();
    const { begin, complete, prove } = enrolling(api);
    const begun = await begin(name, { key: await newKey() });
    const proof = await prove(name, await newKey(), begun.body.challenge, { audience: issuer });
    const answer = await complete(begun.body.enrollment_id, proof);
    expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_proof"]);
  });

  test("begins with an admin's bearer, or once with an enroll token", async () => {
    const { name } = await newAgent();
    const { begin } = enrolling(api);
    const key = await newKey();
    expect((await begin(name, { key }, "")).status).toBe(401);
    const made = await api.call("POST", "/v1/identity/enroll-tokens", {
      bearer: api.tokens.admin,
      body: { agent: name },
    });
    expect([made.status, made.body.agent]).toEqual([201, name]);
    const { enroll_token } = made.body;
    const begun = await begin(name, { key, enroll_token }, "");
    // Without an OpenID provider it could only end in quarantine.
    if (begun.status === 400) return expect(begun.body.error.message).toContain("SVC_IDP_ISSUER");
    expect(begun.status).toBe(201);
    expect((await begin(name, { key, enroll_token }, "")).status).toBe(401);
  });
});

describe("a revocation", () => {
  const revoke = (id: string, body: object = {}) =>
    api.call("POST", `/v1/agents/${id}/revoke`, { bearer: api.tokens.admin, body });

  test("is idempotent, final, and shown by the identity", async () => {
    const { name, id } = await newAgent();
    const first = await revoke(id, { reason: "leaked key" });
    expect(first.status).toBe(200);
    expect(first.body).toMatchObject({ agent_id: id, status: "revoked", revoked: true, revoked_reason: "leaked key" });
    expect((await revoke(id, { reason: "again" })).body).toEqual(first.body);
    expect((await readIdentity(`agents/${name}`)).body).toEqual(first.body);
    const again = await enrolling(api).begin(name, { key: await newKey() });
    expect([again.status, again.body.error.code]).toEqual([409, "agent_revoked"]);
  });

  test("denies every chain through the agent from the next decision, exchange and renewal on", async () => {
    const scope = nameFor("gone");
    await registerLedger(api, scope);
    const { session, clerk, hops } = await clerkSession(api, scope);
    const [forExchange, forDecision, forRenewal] = (await api.renew(clerk.token, 3)).body.tokens;
    const { action_id } = (await api.authorize(session, forExchange, hops.read)).body;
    const { body } = await api.call("GET", `/v1/agents/resolve?name=${hops.planner.target}`, {
      bearer: api.tokens.admin,
    });
    expect((await revoke(body.agent_id)).status).toBe(200);
    const exchanged = await api.exchange(forExchange, hops.read, action_id);
    expect([exchanged.status, exchanged.body.error]).toEqual([403, "invalid_target"]);
    expect((await api.authorize(session, forDecision, hops.read)).body.deny_reason).toBe("AGENT_REVOKED");
    const renewed = await api.renew(forRenewal, 1);
    expect(renewed.body).toMatchObject({
      error: { code: "renewal_refused" },
      details: { deny_reason: "AGENT_REVOKED" },
    });
  });

  test("is in the list from its as_of on, page by page", async () => {
    const agents = [await newAgent(), await newAgent(), await newAgent()];
    const revoked = [];
    for (const { id } of agents) revoked.push((await revoke(id)).body);
    const since = encodeURIComponent(revoked[0].as_of);
    const listed: Record<string, unknown>[] = [];
    for (let cursor = ""; ; ) {
      const { status, body } = await readIdentity(`revocations?since=${since}&limit=2${cursor}`);
      expect([status, body.page.limit, body.as_of]).toEqual([200, 2, timestamp]);
      listed.push(...body.data);
      if (body.page.next_cursor === null) break;
      cursor = `&cursor=${encodeURIComponent(body.page.next_cursor)}`;
    }
    expect(listed).toEqual(
      expect.arrayContaining(revoked.map(({ agent_id, agent, as_of }) => ({ agent_id, agent, as_of }))),
    );
  });

  const repeatedSince = "since=2026-01-01T00:00:00Z&since=2026-01-01T00:00:00Z";
  test.each(["limit=0", "limit=201", "since=yesterday", "since=2026-01-01", "cursor=AAAA", "agent=x", repeatedSince])(
    "the list of revocations refuses %s",
    async (query) => {
      expect((await readIdentity(`revocations?${query}`)).status).toBe(400);
    },
  );

  test.each(["01900000-0000-7000-8000-000000000000", "x"])("of %s is not found", async (id) => {
    expect((await revoke(id)).body.error.code).toBe("agent_not_found");
  });
});

describe("a proof of possession", () => {
  test("that is invalid is refused, and the refusal spends nothing", async () => {
    const scope = nameFor("proven");
    await registerLedger(api, scope);
    const { session, clerk, hops } = await clerkSession(api, scope);
    const { action_id } = (await api.authorize(session, clerk.token, hops.read)).body;
    const actor_token_type = "urn:ietf:params:oauth:token-type:jwt";
    const bySomeone = await enrolling(api).actorToken(hops.clerk.target, await newKey(), clerk.token);
    for (const actor_token of [bySomeone, clerk.token, "x.y.z"]) {
      const answer = await api.exchange(clerk.token, hops.read, action_id, { actor_token, actor_token_type });
      expect([answer.status, answer.body.error]).toEqual([400, "invalid_request"]);
    }
    expect((await api.exchange(clerk.token, hops.read, action_id)).status).toBe(200);
  });
});
