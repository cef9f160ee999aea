import { testBearers } from "@svc/test-support";
import { importAgentKey } from "@svc/tokens";
import { exportJWK, generateKeyPair } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newKey } from "./src/enrollment.ts";
import { type IdentityProvider, startIdentityProvider } from "./src/identity-provider.ts";
import { type IdentityStack, startIdentityStack } from "./src/identity-stack.ts";
import { clerkSession, registerLedger } from "./src/ledger.ts";

let stack: IdentityStack;
let elsewhere: IdentityProvider;
beforeAll(async () => {
  [stack, elsewhere] = await Promise.all([startIdentityStack(), startIdentityProvider()]);
});
afterAll(() => Promise.all([stack.stop(), elsewhere.stop()]));

describe("an agent with a person's assertion", () => {
  test("is enrolled, and its identity shows the key it proved", async () => {
    const [agent, key] = [await stack.newAgent(), await newKey()];
    const begun = await stack.begin(agent, { key, ...(await stack.vouched(key)), claims: { team: "finance" } });
    expect(begun).toMatchObject({
      status: 201,
      body: {
        enrollment_id: expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-7/),
        challenge: expect.stringMatching(/^[\w-]{43}$/),
        expires_at: expect.stringMatching(/\.\d{3}Z$/),
      },
    });
    const proof = await stack.prove(agent, key, begun.body.challenge);
    const completed = await stack.complete(begun.body.enrollment_id, proof);
    expect(completed).toMatchObject({
      status: 200,
      body: { status: "enrolled", agent_id: expect.any(String), anchor_version: 1 },
    });
    const { body } = await stack.identity(agent);
    expect(body).toEqual({
      agent_id: completed.body.agent_id,
      agent,
      status: "enrolled",
      anchor_version: 1,
      jwks: { keys: [{ ...key.publicJwk, kid: key.kid, alg: "ES256", use: "sig" }] },
      revoked: false,
      revoked_reason: null,
      as_of: expect.stringMatching(/\.\d{3}Z$/),
    });
  });

  test("can enroll an Ed25519 key", async () => {
    const { privateKey } = await generateKeyPair("Ed25519", { extractable: true });
    const key = await importAgentKey(JSON.stringify(await exportJWK(privateKey)));
    const { body } = await stack.enroll(await stack.newAgent(), { key, ...(await stack.vouched(key)) });
    expect(body.status).toBe("enrolled");
  });

  test("leaves an event that names key and person, and its credentials are stored nowhere", async () => {
    const [agent, key] = [await stack.newAgent(), await newKey()];
    const assertion = await stack.provider.idToken("grace", key.kid);
    await stack.enroll(agent, { key, principal_assertion: assertion });
    expect(await stack.eventsOf(agent)).toMatchObject([
      {
        kind: "agent_enrolled",
        actor: agent,
        reason: null,
        details: {
          begun_by: "admin",
          thumbprint: key.kid,
          principal_issuer: stack.provider.issuer,
          principal_sub: "grace",
          anchor_version: 1,
        },
      },
    ]);
    const [stored] = await stack.sql<{ text: string }[]>`select string_agg(e::text, '') as text from enrollment e`;
    expect(stored?.text).toContain("grace");
    expect(stored?.text).not.toContain(assertion.split(".")[2]);
  });
});

describe("an agent that never enrolled", () => {
  test("has status none and no keys, by name and by id", async () => {
    const agent = await stack.newAgent();
    const { body } = await stack.identity(agent);
    expect(body).toMatchObject({
      status: "none",
      anchor_version: 0,
      jwks: { keys: [] },
      revoked: false,
      revoked_reason: null,
    });
    const byId = await stack.api.call("GET", `/v1/identity/agents/by-id/${body.agent_id}`, {
      bearer: testBearers.identity,
    });
    expect(byId.body).toEqual(body);
  });

  test.each(["agents/nobody", "agents/by-id/01900000-0000-7000-8000-000000000000", "agents/by-id/x", "agents/by-id"])(
    "is not found without a registration: %s",
    async (path) => {
      const answer = await stack.api.call("GET", `/v1/identity/${path}`, { bearer: testBearers.identity });
      expect([answer.status, answer.body.error.code]).toEqual([404, "agent_not_found"]);
    },
  );

  test("cannot enroll under an unregistered name", async () => {
    const answer = await stack.begin("nobody", { key: await newKey() });
    expect([answer.status, answer.body.error.code]).toEqual([404, "agent_not_found"]);
  });
});

describe("an agent that cannot be bound to a person is quarantined", () => {
  const assertions: [string, string, (thumbprint: string) => Promise<string | undefined>][] = [
    ["no assertion is sent", "NO_PRINCIPAL", async () => undefined],
    ["the assertion is no token", "PRINCIPAL_INVALID", async () => "x.y.z"],
    [
      "another provider issued the assertion",
      "PRINCIPAL_INVALID",
      (thumbprint) => elsewhere.idToken("ada", thumbprint),
    ],
    ["the assertion names another key", "PRINCIPAL_INVALID", () => stack.provider.idToken("ada", "another")],
    [
      "the assertion was altered",
      "PRINCIPAL_INVALID",
      async (thumbprint) => {
        const [header, , signature] = (await stack.provider.idToken("ada", thumbprint)).split(".");
        const payload = JSON.stringify({
          iss: stack.provider.issuer,
          aud: stack.provider.audience,
          sub: "eve",
          nonce: thumbprint,
        });
        return [header, Buffer.from(payload).toString("base64url"), signature].join(".");
      },
    ],
  ];

  test.each(assertions)("where %s: %s", async (_case, reason, assertion) => {
    const [agent, key] = [await stack.newAgent(), await newKey()];
    const principal_assertion = await assertion(key.kid);
    const { status, body } = await stack.enroll(agent, { key, ...(principal_assertion && { principal_assertion }) });
    expect({ status, body }).toEqual({ status: 200, body: { status: "quarantined", reason } });
    expect((await stack.identity(agent)).body).toMatchObject({
      status: "quarantined",
      anchor_version: 0,
      jwks: { keys: [] },
    });
    expect(await stack.eventsOf(agent)).toMatchObject([{ kind: "agent_quarantined", actor: agent, reason }]);
  });

  test("until an administrator lifts it: then it is as one that never enrolled, and may enroll or be quarantined again", async () => {
    const [agent, key] = [await stack.newAgent(), await newKey()];
    const lift = async (bearer = stack.api.tokens.admin) => {
      const { agent_id } = (await stack.identity(agent)).body;
      const body = { reason: "enrolled with the wrong key" };
      return stack.api.call("POST", `/v1/agents/${agent_id}/lift-quarantine`, { bearer, body });
    };
    await stack.enroll(agent, { key });
    expect((await lift(stack.api.tokens.audit)).status).toBe(401);
    expect(await lift()).toMatchObject({ status: 200, body: { agent, status: "none", anchor_version: 0 } });
    expect((await lift()).body.status).toBe("none");
    expect((await stack.enroll(agent, { key })).body.status).toBe("quarantined");
    expect((await stack.identity(agent)).body.status).toBe("quarantined");
    await lift();
    expect((await stack.enroll(agent, { key, ...(await stack.vouched(key)) })).body.status).toBe("enrolled");
    expect((await lift()).body).toMatchObject({ status: "enrolled", anchor_version: 1 });
    expect((await stack.eventsOf(agent)).map(({ kind }) => kind)).toEqual([
      ...["agent_quarantined", "quarantine_lifted", "agent_quarantined", "quarantine_lifted", "agent_enrolled"],
    ]);
    await stack.revoke(agent);
    expect((await lift()).body.status).toBe("revoked");
  });

  test("where another agent has the key: KEY_IN_USE, also after that agent is revoked", async () => {
    const [holder, second, third] = [await stack.newAgent(), await stack.newAgent(), await stack.newAgent()];
    const key = await stack.enrolled(holder, stack.provider);
    const inUse = { status: "quarantined", reason: "KEY_IN_USE" };
    expect((await stack.enroll(second, { key, ...(await stack.vouched(key)) })).body).toEqual(inUse);
    await stack.revoke(holder);
    expect((await stack.enroll(third, { key, ...(await stack.vouched(key)) })).body).toEqual(inUse);
  });

  test("for the first of its reasons: missing assertion, invalid assertion, key in use", async () => {
    const key = await stack.enrolled(await stack.newAgent(), stack.provider);
    const agent = await stack.newAgent();
    expect((await stack.enroll(agent, { key })).body.reason).toBe("NO_PRINCIPAL");
    expect((await stack.enroll(agent, { key, principal_assertion: "x.y.z" })).body.reason).toBe("PRINCIPAL_INVALID");
    expect((await stack.enroll(agent, { key, ...(await stack.vouched(key)) })).body.reason).toBe("KEY_IN_USE");
  });

  test("where it is not the first of several that enroll one key at once", async () => {
    const key = await newKey();
    const names = await Promise.all(Array.from({ length: 6 }, stack.newAgent));
    const assertion = await stack.vouched(key);
    const answers = await Promise.all(names.map((name) => stack.enroll(name, { key, ...assertion })));
    const outcomes = answers.map(({ body }) => body.reason ?? body.status).sort();
    expect(outcomes).toEqual([...Array(5).fill("KEY_IN_USE"), "enrolled"]);
  });

  test("until an enrollment succeeds", async () => {
    const [agent, key] = [await stack.newAgent(), await newKey()];
    await stack.enroll(agent, { key });
    expect((await stack.enroll(agent, { key, ...(await stack.vouched(key)) })).body).toMatchObject({
      status: "enrolled",
      anchor_version: 1,
    });
  });
});

test("a quarantine denies from the next decision and exchange on, and ends with an enrollment", async () => {
  await registerLedger(stack.api, "ledger");
  const { session, clerk, hops } = await clerkSession(stack.api, "ledger");
  const [forExchange, ...tokens] = (await stack.api.renew(clerk.token, 4)).body.tokens;
  const decide = async () => (await stack.api.authorize(session, tokens.pop(), hops.read)).body;
  const { action_id } = (await stack.api.authorize(session, forExchange, hops.read)).body;
  const key = await newKey();
  expect((await stack.enroll(hops.planner.target, { key })).body.status).toBe("quarantined");
  expect(await decide()).toMatchObject({ decision: "deny", deny_reason: "AGENT_QUARANTINED" });
  const exchanged = await stack.api.exchange(forExchange, hops.read, action_id);
  expect([exchanged.status, exchanged.body.error]).toEqual([403, "invalid_target"]);
  expect((await stack.api.renew(tokens.pop(), 1)).body.details).toEqual({ deny_reason: "AGENT_QUARANTINED" });
  await stack.enroll(hops.planner.target, { key, ...(await stack.vouched(key)) });
  expect((await decide()).decision).toBe("allow");
});

describe("enrolling again", () => {
  test("raises the anchor version and replaces the key, which another agent can then enroll", async () => {
    const agent = await stack.newAgent();
    const former = await stack.enrolled(agent, stack.provider);
    const before = (await stack.identity(agent)).body;
    const key = await stack.enrolled(agent, stack.provider, "grace");
    const after = (await stack.identity(agent)).body;
    expect(after).toMatchObject({ status: "enrolled", anchor_version: 2, jwks: { keys: [{ kid: key.kid }] } });
    expect(Date.parse(after.as_of)).toBeGreaterThan(Date.parse(before.as_of));
    const { body } = await stack.enroll(await stack.newAgent(), { key: former, ...(await stack.vouched(former)) });
    expect(body.status).toBe("enrolled");
  });

  test("with the same key raises the anchor version", async () => {
    const agent = await stack.newAgent();
    const key = await stack.enrolled(agent, stack.provider);
    expect((await stack.enroll(agent, { key, ...(await stack.vouched(key)) })).body.anchor_version).toBe(2);
  });

  test("leaves the identity unchanged where it ends in quarantine", async () => {
    const agent = await stack.newAgent();
    await stack.enrolled(agent, stack.provider);
    const before = (await stack.identity(agent)).body;
    const { body } = await stack.enroll(agent, { key: await newKey() });
    expect(body.status).toBe("quarantined");
    expect((await stack.identity(agent)).body).toEqual(before);
  });
});

test("each enrollment is counted once, by its result", async () => {
  const count = async (status: string) => {
    const { text } = await stack.api.call("GET", "/metrics");
    return Number(new RegExp(`^svc_enrollments_total\\{status="${status}"\\} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
  };
  const before = [await count("enrolled"), await count("quarantined")];
  const [agent, key] = [await stack.newAgent(), await newKey()];
  await stack.enroll(agent, { key });
  await stack.enrolled(agent, stack.provider);
  await stack.complete((await stack.begin(agent, { key })).body.enrollment_id, "x");
  expect([await count("enrolled"), await count("quarantined")]).toEqual(before.map((n) => n + 1));
});
