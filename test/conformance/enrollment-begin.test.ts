import { testBearers } from "@svc/test-support";
import { exportJWK, generateKeyPair } from "jose";
import { describe, expect, test } from "vitest";
import { newKey } from "./src/enrollment.ts";
import { identitiesForTests } from "./src/identities-for-tests.ts";

const stack = await identitiesForTests();

describe("beginning an enrollment", () => {
  const issue = (agent: string, more: object = {}) =>
    stack.api.call("POST", "/v1/identity/enroll-tokens", { bearer: testBearers.admin, body: { agent, ...more } });

  test("needs no bearer with the agent's enroll token, which is accepted once", async () => {
    const [agent, key] = [await stack.newAgent(), await newKey()];
    const issued = await issue(agent, { ttl_seconds: 60 });
    expect(issued).toMatchObject({
      status: 201,
      body: { agent, enroll_token: expect.stringMatching(/^[\w-]{43}$/), expires_at: expect.stringMatching(/Z$/) },
    });
    const { enroll_token } = issued.body;
    const input = { key, enroll_token, ...(await stack.vouched(key)) };
    expect((await stack.enroll(agent, input, "")).body).toMatchObject({ status: "enrolled", anchor_version: 1 });
    const again = await stack.begin(agent, input, "");
    expect([again.status, again.body.error.code]).toEqual([401, "unauthorized"]);
    expect(again.headers.get("www-authenticate")).toBe("Bearer");
    expect(await stack.eventsOf(agent)).toMatchObject([
      { kind: "enroll_token_issued", actor: "admin" },
      { kind: "agent_enrolled", actor: agent, details: { begun_by: "enroll_token" } },
    ]);
    expect(JSON.stringify(await stack.eventsOf(agent))).not.toContain(enroll_token);
  });

  test("succeeds once for one enroll token, also in parallel", async () => {
    const [agent, key] = [await stack.newAgent(), await newKey()];
    const { enroll_token } = (await issue(agent)).body;
    const answers = await Promise.all(Array.from({ length: 8 }, () => stack.begin(agent, { key, enroll_token }, "")));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(401)]);
  });

  test.each<[string, (agent: string) => Promise<[string, string]>]>([
    ["another agent's", async (agent) => [agent, (await issue(await stack.newAgent())).body.enroll_token]],
    ["an unregistered agent's", async (agent) => ["nobody", (await issue(agent)).body.enroll_token]],
    ["made up", async (agent) => [agent, "made-up"]],
    [
      "expired",
      async (agent) => {
        const { enroll_token } = (await issue(agent)).body;
        await stack.sql`alter table enroll_token disable trigger append_only`;
        await stack.sql`update enroll_token set expires_at = now()`;
        await stack.sql`alter table enroll_token enable always trigger append_only`;
        return [agent, enroll_token];
      },
    ],
  ])("is refused with an enroll token that is %s, with or without the admin's bearer", async (_case, make) => {
    const [agent, enroll_token] = await make(await stack.newAgent());
    for (const bearer of ["", testBearers.admin]) {
      const answer = await stack.begin(agent, { key: await newKey(), enroll_token }, bearer);
      expect([answer.status, answer.body.error.code]).toEqual([401, "unauthorized"]);
    }
  });

  test("with an invalid key does not spend the enroll token", async () => {
    const [agent, key] = [await stack.newAgent(), await newKey()];
    const { enroll_token } = (await issue(agent)).body;
    const refused = await stack.api.call("POST", "/v1/identity/enrollments", {
      body: { agent, jwk: {}, enroll_token },
    });
    expect(refused.status).toBe(400);
    expect((await stack.begin(agent, { key, enroll_token }, "")).status).toBe(201);
  });

  test("is refused to another plane's bearer, also with a valid enroll token", async () => {
    const agent = await stack.newAgent();
    const { enroll_token } = (await issue(agent)).body;
    for (const bearer of [testBearers.audit, testBearers.identity, "x".repeat(40)]) {
      expect((await stack.begin(agent, { key: await newKey(), enroll_token }, bearer)).status).toBe(401);
    }
  });

  test.each([[{}], [{ agent: "x" }], [{ enroll_token: 1 }], [[]], [null], ["text"]])(
    "is refused without a credential: %j",
    async (body) => {
      const answer = await stack.api.call("POST", "/v1/identity/enrollments", { body });
      expect([answer.status, answer.body.error.code]).toEqual([401, "unauthorized"]);
    },
  );

  test("is refused for a revoked agent", async () => {
    const agent = await stack.newAgent();
    const { enroll_token } = (await issue(agent)).body;
    await stack.revoke(agent);
    const refusals = [
      await stack.begin(agent, { key: await newKey() }),
      await stack.begin(agent, { key: await newKey(), enroll_token }, ""),
      await issue(agent),
    ];
    for (const { status, body } of refusals) expect([status, body.error.code]).toEqual([409, "agent_revoked"]);
  });

  test.each([
    ["nobody", 404],
    [undefined, 400],
    ["A", 400],
  ])("no enroll token is issued for %s", async (agent, status) => {
    expect((await issue(agent as string)).status).toBe(status);
  });

  test.each([59, 86_401, 60.5, "60"])("no enroll token is issued for a lifetime of %j seconds", async (ttl_seconds) => {
    expect((await issue(await stack.newAgent(), { ttl_seconds })).status).toBe(400);
  });
});

describe("an enrollment request", () => {
  const good = async () => ({ agent: await stack.newAgent(), jwk: (await newKey()).publicJwk as object });
  const send = (body: unknown) =>
    stack.api.call("POST", "/v1/identity/enrollments", { bearer: testBearers.admin, body });

  test.each<[string, object, string]>([
    ["without a key is refused", { jwk: undefined }, "jwk"],
    ["with a key without coordinates is refused", { jwk: { kty: "EC" } }, "jwk"],
    ["with a shared secret is refused", { jwk: { kty: "oct", k: "c2VjcmV0" } }, "jwk"],
    ["with an RSA key is refused", { jwk: { kty: "RSA", n: "AQAB", e: "AQAB" } }, "jwk"],
    ["with an invalid agent name is refused", { agent: "../x" }, "agent"],
    ["with an unknown member is refused", { claim: {} }, ""],
    ["with claims that are a list is refused", { claims: [] }, "claims"],
    ["with claims over 8 KiB is refused", { claims: { pad: "x".repeat(8_192) } }, "claims"],
    ["with an empty assertion is refused", { principal_assertion: "" }, "principal_assertion"],
  ])("%s", async (_case, change, path) => {
    const { status, body } = await send({ ...(await good()), ...change });
    expect([status, body.error.code, body.details.issues[0].path]).toEqual([400, "invalid_request", path]);
  });

  test("with a private key is refused, and the response does not repeat the key", async () => {
    const { privateKey } = await generateKeyPair("ES256", { extractable: true });
    const jwk = await exportJWK(privateKey);
    const answer = await send({ ...(await good()), jwk });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain("disclosed");
    expect(answer.text).not.toContain(jwk.d);
  });

  test("keeps claims with NUL, escapes and large numbers unchanged", async () => {
    const claims = { "\u0000": "\u0000", "__proto__ ": { "😀": [1e300, null] } };
    const begun = await send({ ...(await good()), claims });
    expect(begun.status).toBe(201);
    const [row] = await stack.sql<{ claims: string }[]>`
      select claims from enrollment where enrollment_id = ${begun.body.enrollment_id}`;
    expect(JSON.parse(row?.claims ?? "")).toEqual(claims);
  });
});
