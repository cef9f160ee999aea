import {
  type ControlPlane,
  createMigratedDatabase,
  freePort,
  startControlPlane,
  type TestDatabase,
  testBearers,
  waitUntil,
} from "@svc/test-support";
import { type SigningKey, signIdentityAssertion } from "@svc/tokens";
import { AdmissionRefused, createVerifier, type Verifier, type VerifierOptions } from "@svc/verifier";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Api, createApi } from "./src/api.ts";
import { enrolling, newKey } from "./src/enrollment.ts";
import { type IdentityProvider, startIdentityProvider } from "./src/identity-provider.ts";
import { clerkSession, ledgerHops, registerLedger } from "./src/ledger.ts";
import { handTurnedTime } from "./src/manual-clock.ts";

let database: TestDatabase;
let provider: IdentityProvider;
let controlPlane: ControlPlane;
let api: Api;
let agents: ReturnType<typeof enrolling>;
let sql: postgres.Sql;

const start = (stored: TestDatabase, port: string) =>
  startControlPlane(
    { database: stored },
    { PORT: port, SVC_IDP_ISSUER: provider.issuer, SVC_IDP_AUDIENCE: provider.audience },
  );

beforeAll(async () => {
  [database, provider] = await Promise.all([createMigratedDatabase(), startIdentityProvider()]);
  controlPlane = await start(database, String(await freePort()));
  sql = postgres(database.ownerUrl, { max: 2, onnotice: () => {} });
  api = createApi(controlPlane.url, testBearers);
  agents = enrolling(api);
});
afterAll(async () => {
  await controlPlane.stop();
  await provider.stop();
  await sql.end();
  await database.drop();
});

let scopeCount = 0;
/** A new scope, and a function that gets a real token for one of its tools. */
async function ledger() {
  const scope = `ledger-${++scopeCount}`;
  await registerLedger(api, scope);
  const hops = ledgerHops(scope);
  const call = async (tool: "read" | "post" = "read") => {
    const { session, clerk } = await clerkSession(api, scope);
    const { token, action } = await api.hop(session, clerk.token, hops[tool]);
    return { token, action, headers: { authorization: `Bearer ${token}`, "x-svc-session": session } };
  };
  return { hops, call };
}
type Hops = ReturnType<typeof ledgerHops>;

const keysUrl = () => `${api.url}/.well-known/jwks.json`;
const refreshSeconds = 10;
const freshnessSeconds = 60;

/** A resource server's verifier against the real control plane; its clock moves only on command. */
function resourceServer(hops: Hops, options: Partial<VerifierOptions> = {}) {
  const time = handTurnedTime();
  const verifier: Verifier = createVerifier({
    issuer: api.url,
    audience: [hops.read.target, hops.post.target],
    ...(options.jwks === undefined && { jwksUrl: keysUrl() }),
    identityView: { url: api.url, token: testBearers.identity, refreshSeconds },
    freshnessSeconds,
    monotonicMs: time.monotonicMs,
    after: time.after,
    random: () => 0.5,
    ...options,
  });
  onTestFinished(() => verifier.close());
  const admits = (headers: Record<string, string>, more: object = {}) =>
    verifier.admit({ headers, dataClass: "finance.entries", ...more }).then(
      (admission) => admission.agent ?? "admitted",
      (error) => (error instanceof AdmissionRefused ? error.cause : error),
    );
  return { verifier, admits, pass: (seconds: number) => time.pass(seconds * 1000, verifier.ready) };
}

describe("a token that the control plane narrowed", () => {
  test("is accepted with the published keys and an empty view of revocations", async () => {
    const { hops, call } = await ledger();
    const { verifier } = resourceServer(hops);
    const { headers, action } = await call();
    expect(await verifier.admit({ headers, dataClass: "finance.entries" })).toMatchObject({
      sub: "ada",
      caller: hops.clerk.target,
      actChain: ["ada", hops.planner.target, hops.clerk.target, hops.read.target],
      actionId: action,
      agent: null,
    });
  });

  test("for a privileged tool is accepted once with its transaction token", async () => {
    const { hops, call } = await ledger();
    const { admits } = resourceServer(hops);
    const { token, action, headers } = await call("post");
    const params = { amount: 1 };
    const { transaction_token } = (await api.mint(token, action, params)).body;
    const withTransaction = { ...headers, "txn-token": transaction_token };
    expect(await admits(headers, { params })).toBe("transaction_missing");
    expect(await admits(withTransaction, { params: { amount: 2 } })).toBe("params_mismatch");
    expect(await admits(withTransaction, { params })).toBe("admitted");
    expect(await admits(withTransaction, { params })).toBe("replayed");
  });
});

describe("a push", () => {
  /** Its clock does not move, so it refreshes nothing. */
  const following = (hops: Hops) =>
    resourceServer(hops, { identityView: { url: api.url, token: testBearers.identity, refreshSeconds, push: true } });

  test("of a revoked agent and of an ended session refuses without a refresh", async () => {
    const { hops, call } = await ledger();
    const { admits } = following(hops);
    const [ended, kept] = [await call(), await call()];
    expect([await admits(ended.headers), await admits(kept.headers)]).toEqual(["admitted", "admitted"]);
    const path = `/v1/sessions/${ended.headers["x-svc-session"]}/revoke`;
    await api.call("POST", path, { bearer: testBearers.admin, body: {} });
    await waitUntil("the ended session to be refused", async () => (await admits(ended.headers)) === "revoked");
    expect(await admits(kept.headers)).toBe("admitted");
    await agents.revoke(hops.planner.target);
    await waitUntil("the revoked agent to be refused", async () => (await admits(kept.headers)) === "revoked");
  });
});

describe("a revocation", () => {
  test.each(["planner", "clerk"] as const)("of the %s is seen within the refresh interval", async (member) => {
    const { hops, call } = await ledger();
    const { admits, pass } = resourceServer(hops);
    const { headers } = await call();
    expect(await admits(headers)).toBe("admitted");
    await pass(refreshSeconds);
    await agents.revoke(hops[member].target);
    expect(await admits(headers)).toBe("admitted");
    await pass(refreshSeconds);
    expect(await admits(headers)).toBe("revoked");
  });

  test("that commits late is seen at the next refresh, also after later revocations were seen", async () => {
    const { hops, call } = await ledger();
    const { hops: elsewhere } = await ledger();
    const { admits, pass } = resourceServer(hops);
    const { headers } = await call();
    const gate = Promise.withResolvers<void>();
    const written = Promise.withResolvers<void>();
    const committed = sql.begin(async (tx) => {
      await tx`insert into revocation (agent_id, agent, as_of)
        select agent_id, name, clock_timestamp() from agent where name = ${hops.clerk.target}`;
      written.resolve();
      await gate.promise;
    });
    await written.promise;
    await agents.revoke(elsewhere.clerk.target);
    expect(await admits(headers)).toBe("admitted");
    await pass(refreshSeconds);
    expect(await admits(headers)).toBe("admitted");
    gate.resolve();
    await committed;
    await pass(refreshSeconds);
    expect(await admits(headers)).toBe("revoked");
  });

  test("is seen on every page of a list", async () => {
    const { hops, call } = await ledger();
    const { headers } = await call();
    await sql`
      with registered as (
        insert into agent (agent_id, name, created_at)
        select gen_random_uuid(), 'crowd-' || n, now() from generate_series(1, 450) n returning agent_id, name
      )
      insert into revocation (agent_id, agent, as_of) select agent_id, name, clock_timestamp() from registered`;
    await agents.revoke(hops.clerk.target);
    const { admits } = resourceServer(hops);
    expect(await admits(headers)).toBe("revoked");
  });
});

describe("an agent that proves its identity", () => {
  const assertion = async (agent: string, key: SigningKey, token: string, target: string) => ({
    "agent-identity": await signIdentityAssertion(
      key,
      { agent, audience: target, nowSeconds: Date.now() / 1000, jti: crypto.randomUUID() },
      token,
    ),
  });

  async function proving() {
    const { hops, call } = await ledger();
    const server = resourceServer(hops, { identityRequired: true });
    /** A call with its headers. */
    const prepared = async (key: SigningKey, agent: string = hops.clerk.target) => {
      const { token, headers } = await call();
      const proven = { ...headers, ...(await assertion(agent, key, token, hops.read.target)) };
      return () => server.admits(proven);
    };
    const admits = async (key: SigningKey, agent?: string) => (await prepared(key, agent))();
    return { ...server, admits, prepared, clerk: hops.clerk.target, planner: hops.planner.target };
  }

  test("is accepted with its enrolled key, and another agent's proof is refused", async () => {
    const { admits, clerk, planner } = await proving();
    const key = await agents.enrolled(clerk, provider);
    const other = await agents.enrolled(planner, provider);
    expect(await admits(key)).toBe(clerk);
    expect(await admits(other)).toBe("identity_invalid");
    expect(await admits(other, planner)).toBe("identity_invalid");
  });

  test("is refused before its enrollment and in quarantine", async () => {
    const { prepared, clerk, pass } = await proving();
    const key = await newKey();
    const [before, after] = [await prepared(key), await prepared(key)];
    expect(await before()).toBe("identity_invalid");
    expect((await agents.enroll(clerk, { key })).body.status).toBe("quarantined");
    await pass(freshnessSeconds / 2 + refreshSeconds);
    expect(await after()).toBe("identity_invalid");
  });

  test("is accepted with its new key, and refused with the former one, after the view refreshes", async () => {
    const { admits, clerk, pass } = await proving();
    const former = await agents.enrolled(clerk, provider);
    expect(await admits(former)).toBe(clerk);
    const key = await agents.enrolled(clerk, provider);
    await pass(freshnessSeconds / 2 + refreshSeconds);
    expect(await admits(key)).toBe(clerk);
    expect(await admits(former)).toBe("identity_invalid");
  });
});

describe("an unreachable control plane", () => {
  test("is tolerated until the view is too old, and a restored one without its records is not trusted", async () => {
    const { hops, call } = await ledger();
    const { headers } = await call();
    const { hops: elsewhere } = await ledger();
    await agents.revoke(elsewhere.clerk.target);
    // A list is as old as the oldest transaction of the server, which other tests use too.
    await waitUntil("the list to cover the revocation", async () => {
      const { body } = await api.call("GET", "/v1/identity/revocations", { bearer: testBearers.identity });
      return body.data.some(({ as_of }: { as_of: string }) => as_of <= body.as_of);
    });
    const jwks = await (await fetch(keysUrl())).json();
    const { admits, pass } = resourceServer(hops, { jwks });
    expect(await admits(headers)).toBe("admitted");
    await controlPlane.stop();
    await pass(freshnessSeconds - refreshSeconds);
    expect(await admits(headers)).toBe("admitted");

    const emptied = await createMigratedDatabase();
    const port = new URL(api.url).port;
    controlPlane = await start(emptied, port);
    await pass(refreshSeconds + 1);
    expect(await admits(headers)).toBe("stale_identity_view");
    await controlPlane.stop();
    await emptied.drop();

    controlPlane = await start(database, port);
    await pass(refreshSeconds);
    expect(await admits((await call()).headers)).toBe("admitted");
  });
});
