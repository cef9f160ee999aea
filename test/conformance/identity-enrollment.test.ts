import { createDatabase, startControlPlane, type TestDatabase, testBearers } from "@svc/test-support";
import { importAgentKey } from "@svc/tokens";
import { exportJWK, generateKeyPair } from "jose";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Api, createApi } from "./src/api.ts";
import { enrolling, newKey } from "./src/enrollment.ts";
import { type IdentityProvider, startIdentityProvider } from "./src/identity-provider.ts";
import { clerkSession, registerLedger } from "./src/ledger.ts";

let database: TestDatabase;
let provider: IdentityProvider;
let elsewhere: IdentityProvider;
let api: Api;
let agents: ReturnType<typeof enrolling>;
let sql: postgres.Sql;
const stops: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  [database, provider, elsewhere] = await Promise.all([
    createDatabase(),
    startIdentityProvider(),
    startIdentityProvider(),
  ]);
  const controlPlane = await startControlPlane(
    { database },
    { SVC_IDP_ISSUER: provider.issuer, SVC_IDP_AUDIENCE: provider.audience },
  );
  sql = postgres(database.ownerUrl, { max: 1, onnotice: () => {} });
  api = createApi(controlPlane.url, testBearers);
  agents = enrolling(api);
  stops.push(
    controlPlane.stop,
    provider.stop,
    elsewhere.stop,
    () => sql.end(),
    () => database.drop(),
  );
}, 60_000);
afterAll(async () => {
  for (const stop of stops) await stop();
});

let agentCount = 0;
async function newAgent(): Promise<string> {
  const name = `agent-${++agentCount}`;
  const { status, text } = await api.attest(name, { books: { hop_budget: 2 } });
  if (status !== 201) throw new Error(text);
  return name;
}

const vouched = async (key: { readonly kid: string }, person = "ada") => ({
  principal_assertion: await provider.idToken(person, key.kid),
});

interface AuditEvent {
  readonly kind: string;
  readonly details: object;
}

/** What the audit log says of an agent's identity, oldest first. */
async function eventsOf(agent: string): Promise<readonly AuditEvent[]> {
  const { body } = await api.call("GET", `/v1/audit/events?agent=${agent}`, { bearer: testBearers.audit });
  const events: readonly AuditEvent[] = body.data;
  return events.filter(({ kind }) => !kind.startsWith("manifest")).toReversed();
}

describe("an agent that a person vouches for", () => {
  test("is enrolled, and its identity shows the key it proved", async () => {
    const [agent, key] = [await newAgent(), await newKey()];
    const begun = await agents.begin(agent, { key, ...(await vouched(key)), claims: { team: "finance" } });
    expect(begun).toMatchObject({
      status: 201,
      body: {
        enrollment_id: expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-7/),
        challenge: expect.stringMatching(/^[\w-]{43}$/),
        expires_at: expect.stringMatching(/\.\d{3}Z$/),
      },
    });
    const proof = await agents.prove(agent, key, begun.body.challenge);
    const completed = await agents.complete(begun.body.enrollment_id, proof);
    expect(completed).toMatchObject({
      status: 200,
      body: { status: "enrolled", agent_id: expect.any(String), anchor_version: 1 },
    });
    const { body } = await agents.identity(agent);
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

  test("may bring an Ed25519 key", async () => {
    const { privateKey } = await generateKeyPair("Ed25519", { extractable: true });
    const key = await importAgentKey(JSON.stringify(await exportJWK(privateKey)));
    const { body } = await agents.enroll(await newAgent(), { key, ...(await vouched(key)) });
    expect(body.status).toBe("enrolled");
  });

  test("leaves an event that names key and person, and nothing of its credentials anywhere", async () => {
    const [agent, key] = [await newAgent(), await newKey()];
    const assertion = await provider.idToken("grace", key.kid);
    await agents.enroll(agent, { key, principal_assertion: assertion });
    expect(await eventsOf(agent)).toMatchObject([
      {
        kind: "agent_enrolled",
        actor: agent,
        reason: null,
        details: {
          begun_by: "admin",
          thumbprint: key.kid,
          principal_issuer: provider.issuer,
          principal_sub: "grace",
          anchor_version: 1,
        },
      },
    ]);
    const [stored] = await sql<{ text: string }[]>`select string_agg(e::text, '') as text from enrollment e`;
    expect(stored?.text).toContain("grace");
    expect(stored?.text).not.toContain(assertion.split(".")[2]);
  });
});

describe("an agent that never enrolled", () => {
  test("reads as none, without keys, by name and by id", async () => {
    const agent = await newAgent();
    const { body } = await agents.identity(agent);
    expect(body).toMatchObject({
      status: "none",
      anchor_version: 0,
      jwks: { keys: [] },
      revoked: false,
      revoked_reason: null,
    });
    const byId = await api.call("GET", `/v1/identity/agents/by-id/${body.agent_id}`, { bearer: testBearers.identity });
    expect(byId.body).toEqual(body);
  });

  test.each(["agents/nobody", "agents/by-id/01900000-0000-7000-8000-000000000000", "agents/by-id/x", "agents/by-id"])(
    "and one that was never registered is not found: %s",
    async (path) => {
      const answer = await api.call("GET", `/v1/identity/${path}`, { bearer: testBearers.identity });
      expect([answer.status, answer.body.error.code]).toEqual([404, "agent_not_found"]);
    },
  );

  test("cannot be enrolled under a name that was never registered", async () => {
    const answer = await agents.begin("nobody", { key: await newKey() });
    expect([answer.status, answer.body.error.code]).toEqual([404, "agent_not_found"]);
  });
});

describe("an agent that cannot be bound to a person is quarantined", () => {
  const assertions: [string, string, (thumbprint: string) => Promise<string | undefined>][] = [
    ["nobody vouches", "NO_PRINCIPAL", async () => undefined],
    ["what vouches is no token", "PRINCIPAL_INVALID", async () => "x.y.z"],
    ["another provider vouches", "PRINCIPAL_INVALID", (thumbprint) => elsewhere.idToken("ada", thumbprint)],
    ["a person vouches for another key", "PRINCIPAL_INVALID", () => provider.idToken("ada", "another")],
    [
      "the token was altered",
      "PRINCIPAL_INVALID",
      async (thumbprint) => {
        const [header, , signature] = (await provider.idToken("ada", thumbprint)).split(".");
        const payload = JSON.stringify({ iss: provider.issuer, aud: provider.audience, sub: "eve", nonce: thumbprint });
        return [header, Buffer.from(payload).toString("base64url"), signature].join(".");
      },
    ],
  ];

  test.each(assertions)("%s: %s", async (_case, reason, assertion) => {
    const [agent, key] = [await newAgent(), await newKey()];
    const principal_assertion = await assertion(key.kid);
    const { status, body } = await agents.enroll(agent, { key, ...(principal_assertion && { principal_assertion }) });
    expect({ status, body }).toEqual({ status: 200, body: { status: "quarantined", reason } });
    expect((await agents.identity(agent)).body).toMatchObject({
      status: "quarantined",
      anchor_version: 0,
      jwks: { keys: [] },
    });
    expect(await eventsOf(agent)).toMatchObject([{ kind: "agent_quarantined", actor: agent, reason }]);
  });

  test("another agent holds the key: KEY_IN_USE, also once that one is revoked", async () => {
    const [holder, second, third] = [await newAgent(), await newAgent(), await newAgent()];
    const key = await agents.enrolled(holder, provider);
    const inUse = { status: "quarantined", reason: "KEY_IN_USE" };
    expect((await agents.enroll(second, { key, ...(await vouched(key)) })).body).toEqual(inUse);
    await agents.revoke(holder);
    expect((await agents.enroll(third, { key, ...(await vouched(key)) })).body).toEqual(inUse);
  });

  test("the reasons have an order: whoever vouches badly is told so before the key is", async () => {
    const key = await agents.enrolled(await newAgent(), provider);
    const agent = await newAgent();
    expect((await agents.enroll(agent, { key })).body.reason).toBe("NO_PRINCIPAL");
    expect((await agents.enroll(agent, { key, principal_assertion: "x.y.z" })).body.reason).toBe("PRINCIPAL_INVALID");
    expect((await agents.enroll(agent, { key, ...(await vouched(key)) })).body.reason).toBe("KEY_IN_USE");
  });

  test("of agents that enroll one key at the same time one gets it", async () => {
    const key = await newKey();
    const names = await Promise.all(Array.from({ length: 6 }, newAgent));
    const assertion = await vouched(key);
    const answers = await Promise.all(names.map((name) => agents.enroll(name, { key, ...assertion })));
    const outcomes = answers.map(({ body }) => body.reason ?? body.status).sort();
    expect(outcomes).toEqual([...Array(5).fill("KEY_IN_USE"), "enrolled"]);
  });

  test("and leaves the quarantine by an enrollment that succeeds", async () => {
    const [agent, key] = [await newAgent(), await newKey()];
    await agents.enroll(agent, { key });
    expect((await agents.enroll(agent, { key, ...(await vouched(key)) })).body).toMatchObject({
      status: "enrolled",
      anchor_version: 1,
    });
  });
});

test("a quarantine holds from the next decision and exchange on, and ends with an enrollment", async () => {
  await registerLedger(api, "ledger");
  const { session, clerk, hops } = await clerkSession(api, "ledger");
  const [forExchange, ...tokens] = (await api.renew(clerk.token, 4)).body.tokens;
  const decide = async () => (await api.authorize(session, tokens.pop(), hops.read)).body;
  const { action_id } = (await api.authorize(session, forExchange, hops.read)).body;
  const key = await newKey();
  expect((await agents.enroll(hops.planner.target, { key })).body.status).toBe("quarantined");
  expect(await decide()).toMatchObject({ decision: "deny", deny_reason: "AGENT_QUARANTINED" });
  const exchanged = await api.exchange(forExchange, hops.read, action_id);
  expect([exchanged.status, exchanged.body.error]).toEqual([403, "invalid_target"]);
  expect((await api.renew(tokens.pop(), 1)).body.details).toEqual({ deny_reason: "AGENT_QUARANTINED" });
  await agents.enroll(hops.planner.target, { key, ...(await vouched(key)) });
  expect((await decide()).decision).toBe("allow");
});

describe("enrolling again", () => {
  test("raises the anchor version and replaces the key, which anybody may enroll then", async () => {
    const agent = await newAgent();
    const former = await agents.enrolled(agent, provider);
    const before = (await agents.identity(agent)).body;
    const key = await agents.enrolled(agent, provider, "grace");
    const after = (await agents.identity(agent)).body;
    expect(after).toMatchObject({ status: "enrolled", anchor_version: 2, jwks: { keys: [{ kid: key.kid }] } });
    expect(Date.parse(after.as_of)).toBeGreaterThan(Date.parse(before.as_of));
    const { body } = await agents.enroll(await newAgent(), { key: former, ...(await vouched(former)) });
    expect(body.status).toBe("enrolled");
  });

  test("with the same key raises the anchor version", async () => {
    const agent = await newAgent();
    const key = await agents.enrolled(agent, provider);
    expect((await agents.enroll(agent, { key, ...(await vouched(key)) })).body.anchor_version).toBe(2);
  });

  test("that ends in quarantine leaves the present identity as it stands", async () => {
    const agent = await newAgent();
    await agents.enrolled(agent, provider);
    const before = (await agents.identity(agent)).body;
    const { body } = await agents.enroll(agent, { key: await newKey() });
    expect(body.status).toBe("quarantined");
    expect((await agents.identity(agent)).body).toEqual(before);
  });
});

describe("the proof is the credential of a completion", () => {
  const pending = async () => {
    const [agent, key] = [await newAgent(), await newKey()];
    const { body } = await agents.begin(agent, { key, ...(await vouched(key)) });
    return { agent, key, id: body.enrollment_id as string, challenge: body.challenge as string };
  };
  type Pending = Awaited<ReturnType<typeof pending>>;

  const invalid: [string, (enrollment: Pending) => Promise<string> | string][] = [
    ["no token", () => "x"],
    ["by another key", async ({ agent, challenge }) => agents.prove(agent, await newKey(), challenge)],
    ["for another agent", ({ key, challenge }) => agents.prove("planner", key, challenge)],
    [
      "for another server",
      ({ agent, key, challenge }) => agents.prove(agent, key, challenge, { audience: "https://x" }),
    ],
    ["over another challenge", ({ agent, key }) => agents.prove(agent, key, "another")],
    [
      "over a token instead of the challenge",
      ({ agent, key, challenge }) => agents.actorToken(agent, key, rootOf(challenge)),
    ],
    [
      "that expired",
      ({ agent, key, challenge }) => agents.prove(agent, key, challenge, { nowSeconds: Date.now() / 1000 - 61 }),
    ],
    [
      "from the future",
      ({ agent, key, challenge }) => agents.prove(agent, key, challenge, { nowSeconds: Date.now() / 1000 + 10 }),
    ],
  ];

  test.each(invalid)("%s: invalid_proof", async (_case, proof) => {
    const enrollment = await pending();
    const answer = await agents.complete(enrollment.id, await proof(enrollment));
    expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_proof"]);
    expect((await agents.identity(enrollment.agent)).body.status).toBe("none");
  });

  test("the third try may be the right one; after three wrong ones it is over", async () => {
    const [good, bad] = [await pending(), await pending()];
    for (const { id } of [good, good, bad, bad, bad]) expect((await agents.complete(id, "x")).status).toBe(400);
    const right = (of: Pending) => agents.prove(of.agent, of.key, of.challenge);
    expect((await agents.complete(good.id, await right(good))).body.status).toBe("enrolled");
    const late = await agents.complete(bad.id, await right(bad));
    expect([late.status, late.body.error.code]).toEqual([409, "enrollment_expired"]);
  });

  test("parallel tries are no more than three", async () => {
    const { id } = await pending();
    const answers = await Promise.all(Array.from({ length: 20 }, () => agents.complete(id, "x")));
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(3);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(17);
  });

  test("parallel completions end in one", async () => {
    const { id, agent, key, challenge } = await pending();
    const proof = await agents.prove(agent, key, challenge);
    const answers = await Promise.all([1, 2, 3].map(() => agents.complete(id, proof)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    expect((await agents.identity(agent)).body.anchor_version).toBe(1);
  });

  test("too late it is over", async () => {
    const { id, agent, key, challenge } = await pending();
    await sql`update enrollment set expires_at = now() where enrollment_id = ${id}`;
    const answer = await agents.complete(id, await agents.prove(agent, key, challenge));
    expect([answer.status, answer.body.error.code]).toEqual([409, "enrollment_expired"]);
  });

  test.each(["01900000-0000-7000-8000-000000000000", "x", "%F0%9F%98%80"])("%s is no enrollment", async (id) => {
    const answer = await agents.complete(id, "x");
    expect([answer.status, answer.body.error.code]).toEqual([404, "enrollment_not_found"]);
  });

  test("an agent that was revoked meanwhile stays revoked", async () => {
    const { id, agent, key, challenge } = await pending();
    await agents.revoke(agent);
    const answer = await agents.complete(id, await agents.prove(agent, key, challenge));
    expect([answer.status, answer.body.error.code]).toEqual([409, "agent_revoked"]);
    expect((await agents.identity(agent)).body).toMatchObject({ status: "revoked", jwks: { keys: [] } });
  });
});

/** A token-shaped text, to bind a proof to. */
const rootOf = (text: string): string => `${btoa('{"alg":"ES256"}')}.${btoa(JSON.stringify({ iss: api.url, text }))}.x`;

describe("who may begin an enrollment", () => {
  const issue = (agent: string, more: object = {}) =>
    api.call("POST", "/v1/identity/enroll-tokens", { bearer: testBearers.admin, body: { agent, ...more } });

  test("whoever holds the agent's enroll token, once, without a bearer", async () => {
    const [agent, key] = [await newAgent(), await newKey()];
    const issued = await issue(agent, { ttl_seconds: 60 });
    expect(issued).toMatchObject({
      status: 201,
      body: { agent, enroll_token: expect.stringMatching(/^[\w-]{43}$/), expires_at: expect.stringMatching(/Z$/) },
    });
    const { enroll_token } = issued.body;
    const input = { key, enroll_token, ...(await vouched(key)) };
    expect((await agents.enroll(agent, input, "")).body).toMatchObject({ status: "enrolled", anchor_version: 1 });
    const again = await agents.begin(agent, input, "");
    expect([again.status, again.body.error.code]).toEqual([401, "unauthorized"]);
    expect(again.headers.get("www-authenticate")).toBe("Bearer");
    expect(await eventsOf(agent)).toMatchObject([
      { kind: "enroll_token_issued", actor: "admin" },
      { kind: "agent_enrolled", actor: agent, details: { begun_by: "enroll_token" } },
    ]);
    expect(JSON.stringify(await eventsOf(agent))).not.toContain(enroll_token);
  });

  test("of parallel enrollments with one token one begins", async () => {
    const [agent, key] = [await newAgent(), await newKey()];
    const { enroll_token } = (await issue(agent)).body;
    const answers = await Promise.all(Array.from({ length: 8 }, () => agents.begin(agent, { key, enroll_token }, "")));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(401)]);
  });

  test.each<[string, (agent: string) => Promise<[string, string]>]>([
    ["another agent's", async (agent) => [agent, (await issue(await newAgent())).body.enroll_token]],
    ["an unregistered agent's", async (agent) => ["nobody", (await issue(agent)).body.enroll_token]],
    ["made up", async (agent) => [agent, "made-up"]],
    [
      "expired",
      async (agent) => {
        const { enroll_token } = (await issue(agent)).body;
        await sql`alter table enroll_token disable trigger append_only`;
        await sql`update enroll_token set expires_at = now()`;
        await sql`alter table enroll_token enable always trigger append_only`;
        return [agent, enroll_token];
      },
    ],
  ])("a token that is %s opens nothing, with or without the admin's bearer", async (_case, make) => {
    const [agent, enroll_token] = await make(await newAgent());
    for (const bearer of ["", testBearers.admin]) {
      const answer = await agents.begin(agent, { key: await newKey(), enroll_token }, bearer);
      expect([answer.status, answer.body.error.code]).toEqual([401, "unauthorized"]);
    }
  });

  test("a request that is refused for its key spends no token", async () => {
    const [agent, key] = [await newAgent(), await newKey()];
    const { enroll_token } = (await issue(agent)).body;
    const refused = await api.call("POST", "/v1/identity/enrollments", { body: { agent, jwk: {}, enroll_token } });
    expect(refused.status).toBe(400);
    expect((await agents.begin(agent, { key, enroll_token }, "")).status).toBe(201);
  });

  test("nobody with another plane's bearer, whatever token comes along", async () => {
    const agent = await newAgent();
    const { enroll_token } = (await issue(agent)).body;
    for (const bearer of [testBearers.audit, testBearers.identity, "x".repeat(40)]) {
      expect((await agents.begin(agent, { key: await newKey(), enroll_token }, bearer)).status).toBe(401);
    }
  });

  test.each([[{}], [{ agent: "x" }], [{ enroll_token: 1 }], [[]], [null], ["text"]])(
    "nobody without a credential, whatever the body says: %j",
    async (body) => {
      const answer = await api.call("POST", "/v1/identity/enrollments", { body });
      expect([answer.status, answer.body.error.code]).toEqual([401, "unauthorized"]);
    },
  );

  test("nobody for a revoked agent: it is revoked for good", async () => {
    const agent = await newAgent();
    const { enroll_token } = (await issue(agent)).body;
    await agents.revoke(agent);
    const refusals = [
      await agents.begin(agent, { key: await newKey() }),
      await agents.begin(agent, { key: await newKey(), enroll_token }, ""),
      await issue(agent),
    ];
    for (const { status, body } of refusals) expect([status, body.error.code]).toEqual([409, "agent_revoked"]);
  });

  test.each([
    ["nobody", 404],
    [undefined, 400],
    ["A", 400],
  ])("no token is issued for %s", async (agent, status) => {
    expect((await issue(agent as string)).status).toBe(status);
  });

  test.each([59, 86_401, 60.5, "60"])("no token lives for %j seconds", async (ttl_seconds) => {
    expect((await issue(await newAgent(), { ttl_seconds })).status).toBe(400);
  });
});

describe("a request that says something else than an enrollment", () => {
  const good = async () => ({ agent: await newAgent(), jwk: (await newKey()).publicJwk as object });
  const send = (body: unknown) => api.call("POST", "/v1/identity/enrollments", { bearer: testBearers.admin, body });

  test.each<[string, object, string]>([
    ["no key", { jwk: undefined }, "jwk"],
    ["a key that is none", { jwk: { kty: "EC" } }, "jwk"],
    ["a shared secret", { jwk: { kty: "oct", k: "c2VjcmV0" } }, "jwk"],
    ["an RSA key", { jwk: { kty: "RSA", n: "AQAB", e: "AQAB" } }, "jwk"],
    ["an agent that cannot exist", { agent: "../x" }, "agent"],
    ["an unknown member", { claim: {} }, ""],
    ["claims that are a list", { claims: [] }, "claims"],
    ["claims beyond 8 KiB", { claims: { pad: "x".repeat(8_192) } }, "claims"],
    ["an empty assertion", { principal_assertion: "" }, "principal_assertion"],
  ])("%s", async (_case, change, path) => {
    const { status, body } = await send({ ...(await good()), ...change });
    expect([status, body.error.code, body.details.issues[0].path]).toEqual([400, "invalid_request", path]);
  });

  test("a private key is refused, and not repeated", async () => {
    const { privateKey } = await generateKeyPair("ES256", { extractable: true });
    const jwk = await exportJWK(privateKey);
    const answer = await send({ ...(await good()), jwk });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain("disclosed");
    expect(answer.text).not.toContain(jwk.d);
  });

  test("claims that a database could stumble over are kept as said", async () => {
    const claims = { "\u0000": "\u0000", "__proto__ ": { "😀": [1e300, null] } };
    const begun = await send({ ...(await good()), claims });
    expect(begun.status).toBe(201);
    const [row] = await sql<{ claims: string }[]>`
      select claims from enrollment where enrollment_id = ${begun.body.enrollment_id}`;
    expect(JSON.parse(row?.claims ?? "")).toEqual(claims);
  });
});

test("enrollments are counted by how they ended, once each", async () => {
  const count = async (status: string) => {
    const { text } = await api.call("GET", "/metrics");
    return Number(new RegExp(`^svc_enrollments_total\\{status="${status}"\\} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
  };
  const before = [await count("enrolled"), await count("quarantined")];
  const [agent, key] = [await newAgent(), await newKey()];
  await agents.enroll(agent, { key });
  await agents.enrolled(agent, provider);
  await agents.complete((await agents.begin(agent, { key })).body.enrollment_id, "x");
  expect([await count("enrolled"), await count("quarantined")]).toEqual(before.map((n) => n + 1));
});
