import { testBearers } from "@svc/test-support";
import { decodeJwt } from "jose";
import { describe, expect, test } from "vitest";
import { oneForTests } from "./src/for-tests.ts";
import { ledgerHops, registerLedger } from "./src/ledger.ts";

const rotated = "the-next-admin-token-of-the-tests-0123456789";
const issuer = "https://authorization.test";

/** Every setting with an effect that callers see, changed from its default. */
const { api } = await oneForTests({
  SVC_ADMIN_TOKEN: `${testBearers.admin},on-call=${rotated}`,
  SVC_CONSENT_TTL_SECONDS: "120",
  SVC_DISCOVERY_ALLOW: "10.0.0.0/8",
  SVC_ISSUER: issuer,
  SVC_OBSERVE_SCOPES: "books, magazines",
});
const hops = ledgerHops("books");

test("SVC_CONSENT_TTL_SECONDS is the lifetime of a consent that names none", async () => {
  const [unnamed, named] = [await api.consent("books"), await api.consent("books", { ttl_seconds: 600 })];
  const lifetimes = [unnamed, named].map(({ token }) => {
    const { exp = 0, iat = 0 } = decodeJwt(token);
    return exp - iat;
  });
  expect(lifetimes).toEqual([expect.closeTo(120, -0.5), expect.closeTo(600, -0.5)]);
});

test("SVC_ISSUER is the iss of every token, the aud of a root grant, and the metadata's issuer", async () => {
  const { session, token } = await api.consent("books");
  const narrowed = await api.hop(session, token, hops.planner);
  expect(decodeJwt(token)).toMatchObject({ iss: issuer, aud: issuer });
  expect(decodeJwt(narrowed.token).iss).toBe(issuer);
  const { body } = await api.call("GET", "/.well-known/oauth-authorization-server");
  expect(body).toMatchObject({ issuer, token_endpoint: `${issuer}/v1/token/exchange` });
});

test("SVC_OBSERVE_SCOPES lists the scopes that may be observed; any other is invalid_request and is not recorded", async () => {
  await registerLedger(api, "ledgers");
  for (const [scope, status] of [
    ["books", 200],
    ["ledgers", 400],
  ] as const) {
    const { session, token } = await api.consent(scope);
    const answer = await api.authorize(session, token, ledgerHops(scope).planner, { enforced: false });
    expect([scope, answer.status, answer.body.error?.code]).toEqual([
      scope,
      status,
      status === 400 ? "invalid_request" : undefined,
    ]);
    expect((await api.decisions(`session_id=${session}`)).body.data).toHaveLength(status === 200 ? 1 : 0);
  }
});

describe("SVC_ADMIN_TOKEN", () => {
  test("holds several tokens with labels, and events record the label", async () => {
    const agent = "labelled";
    const manifest = { scopes: { labels: { hop_budget: 1 } } };
    const body = { name: agent, manifest, override: { reason: "read by a person" } };
    expect((await api.call("POST", "/v1/agents", { bearer: rotated, body })).status).toBe(201);
    const read = await api.call("GET", "/v1/manifests/labels", { bearer: testBearers.admin });
    expect(read.body.attested_by).toBe("human:on-call");
  });
});

test("SVC_DISCOVERY_ALLOW alone admits private addresses; this machine's own are refused by default", async () => {
  const manifest = {
    discovery: { kind: "http", url: "http://127.0.0.1:18999/" },
    scopes: { inside: { hop_budget: 1, tools: [{ ref: "http:inside/read", data_classes: ["a"] }] } },
  };
  const body = { name: "insider", manifest };
  const answer = await api.call("POST", "/v1/agents", { bearer: api.tokens.admin, body });
  expect([answer.status, answer.body.error.code]).toEqual([409, "needs_review"]);
  expect(answer.body.details.diff[0].remedy).toContain("SVC_DISCOVERY_ALLOW");
});
