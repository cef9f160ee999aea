import { decodeJwt, decodeProtectedHeader } from "jose";
import { describe, expect, test } from "vitest";
import { type Answer, exchangeGrant, whenDecided } from "./src/api.ts";
import { ledgerForTests } from "./src/for-tests.ts";
import { clerkSession, ledgerHops, registerLedger } from "./src/ledger.ts";

const { api, scope, name } = await ledgerForTests();

const unknownAction = "01a00000-0000-7000-8000-000000000000";

async function allowedRead() {
  const { session, clerk, hops } = await clerkSession(api, scope);
  const decision = await api.authorize(session, clerk.token, hops.read);
  const action: string = decision.body.action_id;
  const fields = {
    ...exchangeGrant,
    subject_token: clerk.token,
    resource: hops.read.target,
    scope: hops.read.data_class,
    action_id: action,
  };
  return { session, token: clerk.token, action, hops, fields };
}

/** RFC 6749 section 5.2: the two members, the character set, never cached. */
function expectRefusal(answer: Answer, status: number, error: string, members: object = {}): void {
  expect({ status: answer.status, body: answer.body }).toEqual({
    status,
    body: { error, error_description: expect.stringMatching(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/), ...members },
  });
  expect(answer.headers.get("cache-control")).toBe("no-store");
}

describe("an exchange of a recorded allow", () => {
  test("returns an RFC 8693 response for a token of 60 seconds, with no-store", async () => {
    const { fields } = await allowedRead();
    const answer = await api.exchangeForm(fields);
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: {
        access_token: expect.any(String),
        issued_token_type: "urn:ietf:params:oauth:token-type:jwt",
        token_type: "Bearer",
        expires_in: 60,
      },
    });
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  test("narrows: aud and scope are the requested ones, hop is one more, act is the chain back to the person", async () => {
    const { token, action, hops } = await allowedRead();
    const presented = decodeJwt(token);
    const { body } = await api.exchange(token, hops.read, action);
    const claims = decodeJwt(body.access_token);
    expect(claims).toMatchObject({
      iss: presented.iss,
      sub: presented.sub,
      aud: hops.read.target,
      scope: hops.read.data_class,
      hop: Number(presented.hop) + 1,
      act: { sub: hops.clerk.target, act: { sub: hops.planner.target, act: { sub: "ada" } } },
      action_id: action,
      taint: "trusted_internal",
    });
    expect(claims.jti).not.toBe(presented.jti);
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBeLessThanOrEqual(60);
    expect(decodeProtectedHeader(body.access_token).typ).toBe("at+jwt");
  });

  test("succeeds once: the same token again is invalid_grant", async () => {
    const { session, token, action, hops } = await allowedRead();
    expect((await api.exchange(token, hops.read, action)).status).toBe(200);
    expectRefusal(await api.exchange(token, hops.read, action), 400, "invalid_grant");
    const second = await api.authorize(session, token, hops.read);
    expectRefusal(await api.exchange(token, hops.read, second.body.action_id), 400, "invalid_grant");
  });

  test("of 64 at once succeeds for one; 63 are invalid_grant", async () => {
    const { fields } = await allowedRead();
    const answers = await Promise.all(Array.from({ length: 64 }, () => whenDecided(() => api.exchangeForm(fields))));
    const codes = answers.map(({ status, body }) => `${status} ${body.error ?? ""}`).sort();
    expect(codes).toEqual(["200 ", ...Array(63).fill("400 invalid_grant")]);
  });

  test("of one allow by two tokens succeeds for one", async () => {
    const { session, clerk, hops } = await clerkSession(api, scope);
    const [a, b] = (await api.renew(clerk.token, 2)).body.tokens;
    const { action_id } = (await api.authorize(session, a, hops.read)).body;
    const answers = await Promise.all(
      [a, b].map((token) => whenDecided(() => api.exchange(token, hops.read, action_id))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
  });
});

describe("an exchange that differs from its allow is invalid_grant, and spends nothing", () => {
  test.each<[string, Record<string, string>]>([
    ["no action", { action_id: "" }],
    ["an action that is no UUID", { action_id: "1 or 1=1" }],
    ["an action of 60 kB", { action_id: "a".repeat(60_000) }],
    ["an unknown action", { action_id: unknownAction }],
    ["another target", { resource: "http:elsewhere/read" }],
    ["another class", { scope: "web" }],
    ["a broader class", { scope: "finance" }],
    ["more classes", { scope: "finance.entries web" }],
    ["a target with NUL", { resource: "http:x\0" }],
  ])("%s", async (_case, change) => {
    const { fields } = await allowedRead();
    expectRefusal(await api.exchangeForm({ ...fields, ...change }), 400, "invalid_grant");
    expect((await api.exchangeForm(fields)).status).toBe(200);
  });

  test("no action_id at all", async () => {
    const { fields } = await allowedRead();
    const { action_id: _, ...without } = fields;
    expectRefusal(await api.exchangeForm(without), 400, "invalid_grant");
  });

  test("another session's or caller's allow, or a deny, gets the response for an unknown action", async () => {
    const [mine, theirs] = [await allowedRead(), await allowedRead()];
    const planner = await clerkSession(api, scope);
    const nowhere = { ...mine.hops.read, target: "http:no/where" };
    const denied = await api.authorize(mine.session, mine.token, nowhere);
    expect(denied.body.decision).toBe("deny");
    const unknown = await api.exchangeForm({ ...mine.fields, action_id: unknownAction });
    const refused = [
      await api.exchangeForm({ ...mine.fields, action_id: theirs.action }),
      await api.exchangeForm({ ...mine.fields, action_id: planner.planner.action }),
      await api.exchange(mine.token, nowhere, denied.body.action_id),
    ];
    expect(refused.map(({ status, text }) => [status, text])).toEqual(Array(3).fill([400, unknown.text]));
  });

  test("a person's allow of another session, otherwise equal", async () => {
    const [mine, theirs] = [await api.consent(scope), await api.consent(scope)];
    const delegation = ledgerHops(scope).planner;
    const foreign = await api.authorize(theirs.session, theirs.token, delegation);
    expectRefusal(await api.exchange(mine.token, delegation, foreign.body.action_id), 400, "invalid_grant");
    const own = await api.authorize(mine.session, mine.token, delegation);
    expect((await api.exchange(mine.token, delegation, own.body.action_id)).status).toBe(200);
  });

  test("the same caller's allow under another delegation", async () => {
    const { session, token } = await api.consent(scope);
    const hops = ledgerHops(scope);
    const planner = await api.hop(session, token, hops.planner);
    const [a, b] = (await api.renew(planner.token, 2)).body.tokens;
    const [one, other] = [await api.hop(session, a, hops.clerk), await api.hop(session, b, hops.clerk)];
    const { action_id } = (await api.authorize(session, one.token, hops.read)).body;
    expectRefusal(await api.exchange(other.token, hops.read, action_id), 400, "invalid_grant");
    expect((await api.exchange(one.token, hops.read, action_id)).status).toBe(200);
  });
});

describe("an exchange decides again", () => {
  /** The response names the new deny, not the allow in the request. */
  async function expectRecordedDeny(answer: Answer, reason: string): Promise<void> {
    expectRefusal(answer, 403, "invalid_target", { action_id: expect.any(String) });
    const { body } = await api.call("GET", `/v1/audit/actions/${answer.body.action_id}/explanation`, {
      bearer: api.tokens.audit,
    });
    expect(body).toMatchObject({ action_id: answer.body.action_id, decision: "deny", deny_reason: reason });
  }

  test("a block set after the allow is invalid_target, and nothing is spent", async () => {
    const own = name("blocked");
    await registerLedger(api, own);
    const { session, clerk, hops } = await clerkSession(api, own);
    const { action_id } = (await api.authorize(session, clerk.token, hops.read)).body;
    const block = `/v1/blocks/tool/${encodeURIComponent(hops.read.target)}`;
    const set = await api.call("PUT", block, { bearer: api.tokens.admin, body: { reason: "a test" } });
    expect(set.status).toBe(200);
    await expectRecordedDeny(await api.exchange(clerk.token, hops.read, action_id), "TARGET_BLOCKED");
    expect((await api.call("DELETE", block, { bearer: api.tokens.admin })).status).toBe(204);
    expect((await api.exchange(clerk.token, hops.read, action_id)).status).toBe(200);
  });

  test("a session ended after the allow is invalid_target", async () => {
    const { session, token, action, hops } = await allowedRead();
    await api.call("POST", `/v1/sessions/${session}/revoke`, { bearer: api.tokens.admin });
    await expectRecordedDeny(await api.exchange(token, hops.read, action), "SESSION_REVOKED");
  });
});

describe("the form is read strictly", () => {
  const send = (body: NonNullable<RequestInit["body"]>, type = "application/x-www-form-urlencoded", query = "") =>
    api.call("POST", `/v1/token/exchange${query}`, { raw: { body, headers: { "content-type": type } } });
  const form = (fields: Record<string, string>) => new URLSearchParams(fields).toString();

  test.each<[string, Record<string, string>, string]>([
    ["another grant type", { grant_type: "authorization_code" }, "unsupported_grant_type"],
    ["no grant type", { grant_type: "" }, "invalid_request"],
    ["another token type", { subject_token_type: "urn:ietf:params:oauth:token-type:access_token" }, "invalid_request"],
    ["no subject token", { subject_token: "" }, "invalid_request"],
    ["no resource", { resource: "" }, "invalid_request"],
    ["no scope", { scope: "" }, "invalid_request"],
    ["an unknown taint", { taint: "none" }, "invalid_request"],
    ["an actor token without its type", { actor_token: "x.y.z" }, "invalid_request"],
    ["an actor token's type without it", { actor_token_type: exchangeGrant.subject_token_type }, "invalid_request"],
    ["an audience beside the resource", { audience: "elsewhere" }, "invalid_target"],
  ])("%s", async (_case, change, error) => {
    const { fields } = await allowedRead();
    expectRefusal(await api.exchangeForm({ ...fields, ...change }), 400, error);
  });

  test.each(["grant_type", "subject_token", "subject_token_type", "resource", "scope", "action_id", "taint"])(
    "%s twice",
    async (parameter) => {
      const { fields } = await allowedRead();
      const value = new Map(Object.entries({ ...fields, taint: "trusted_internal" })).get(parameter) ?? "";
      const twice = `${form({ ...fields, taint: "trusted_internal" })}&${form({ [parameter]: value })}`;
      expectRefusal(await send(twice), 400, "invalid_request");
    },
  );

  test.each([
    ["a broken percent escape", "&x=%zz"],
    ["bytes that are not UTF-8", "&x=%ff"],
  ])("%s", async (_case, more) => {
    const { fields } = await allowedRead();
    expectRefusal(await send(form(fields) + more), 400, "invalid_request");
  });

  test("parameters in the query", async () => {
    const { fields } = await allowedRead();
    const { action_id, ...rest } = fields;
    expectRefusal(await send(form(rest), undefined, `?action_id=${action_id}`), 400, "invalid_request");
  });

  test.each([
    ["JSON", "application/json", (text: string) => text],
    ["multipart", "multipart/form-data; boundary=x", (text: string) => text],
    ["UTF-16", "application/x-www-form-urlencoded; charset=utf-16", (text: string) => Buffer.from(text, "utf16le")],
    ["plain text", "text/plain", (text: string) => text],
  ])("a body of %s", async (_case, type, encode) => {
    const { fields } = await allowedRead();
    expectRefusal(await send(encode(form(fields)), type), 400, "invalid_request");
  });

  test("a body over a mebibyte is 413 in the same shape", async () => {
    const { fields } = await allowedRead();
    expectRefusal(await send(`${form(fields)}&x=${"x".repeat(1_048_576)}`), 413, "invalid_request");
  });

  test("a GET is no exchange", async () => {
    const answer = await api.call("GET", "/v1/token/exchange");
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
  });
});

describe("taint", () => {
  test("declared at an exchange is in its token, marks the caller, and cannot be lowered later", async () => {
    const { session, clerk, hops } = await clerkSession(api, scope);
    const [a, b] = (await api.renew(clerk.token, 2)).body.tokens;
    const { action_id } = (await api.authorize(session, a, hops.read)).body;
    const grant = await api.exchange(a, hops.read, action_id, { taint: "untrusted_external" });
    expect(decodeJwt(grant.body.access_token).taint).toBe("untrusted_external");
    const later = await api.authorize(session, b, hops.read, { taint: "trusted_internal" });
    expect(later.body).toMatchObject({ taint: "untrusted_external", taint_source: "declared" });
    const again = await api.exchange(b, hops.read, later.body.action_id, { taint: "trusted_internal" });
    expect(decodeJwt(again.body.access_token).taint).toBe("untrusted_external");
  });
});

test("no refusal contains the token, its jti or a stack trace", async () => {
  const { token, fields } = await allowedRead();
  const { jti } = decodeJwt(token);
  const refusals = await Promise.all([
    api.exchangeForm({ ...fields, action_id: unknownAction }),
    api.exchangeForm({ ...fields, subject_token: `${token}x` }),
    api.exchangeForm({ ...fields, audience: "elsewhere" }),
  ]);
  for (const { status, text } of refusals) {
    expect(status).toBe(400);
    for (const secret of [token, String(jti), "node:", ".ts:", "at "]) expect(text).not.toContain(secret);
  }
});
