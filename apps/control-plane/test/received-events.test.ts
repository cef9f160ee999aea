import { eventTypes, inconsequentialEvents } from "@svc/core";
import { aManifest, aTool } from "@svc/test-support";
import { generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { DatabaseUnavailable } from "../src/postgres/database.ts";
import { browser, opensConsole, startSignIn } from "./sign-in-support.ts";
import {
  deliver,
  type EventChanges,
  eventClaims,
  nowSeconds,
  signalsSettings,
  signedEvent,
} from "./signals-support.ts";
import { registerAgent, tokens } from "./support.ts";

let plane: Awaited<ReturnType<typeof startSignIn>>;
beforeAll(async () => {
  plane = await startSignIn(signalsSettings);
  await registerAgent(plane, "reader", aManifest("expenses", { tools: [aTool("http:ledger/read")] }));
});
afterAll(() => plane.stop());

async function consent(userSub = "ada"): Promise<string> {
  const { json } = await plane.send("/v1/consent", { body: { scope: "expenses", user_sub: userSub } });
  return String(json.session_id);
}
const statusOf = async (sessionId: string) => (await plane.send(`/v1/sessions/${sessionId}`)).json.status;
const eventsOf = async (kind: string) => (await plane.send(`/v1/audit/events?kind=${kind}`)).json.data;
const taken = async (changes: EventChanges = {}) => deliver(plane, await signedEvent(plane.provider, changes));

let running: string;
beforeEach(async () => {
  running = await consent();
});

test("a disabled account ends the person's sessions and sign-ins, recorded as the provider's act", async () => {
  const others = await consent("ben");
  const ada = browser(plane.deps);
  await ada.signIn(plane.provider, "ada");
  expect(await opensConsole(ada)).toBe(true);
  const { status, text } = await taken();
  expect([status, text]).toEqual([202, ""]);
  expect([await statusOf(running), await statusOf(others)]).toEqual(["revoked", "active"]);
  expect(await opensConsole(ada)).toBe(false);
  const by = { actor: plane.provider.issuer, reason: "account-disabled at the identity provider" };
  expect((await eventsOf("session_revoked"))?.[0]).toMatchObject({ ...by, session_id: running });
  expect((await eventsOf("sign_in_ended"))?.[0]).toMatchObject({ ...by, details: { user_sub: "ada" } });
});

const change = (change_type: string) => ({ type: eventTypes.credentialChange, event: { change_type } });
const ends: readonly EventChanges[] = [
  ...(["sessionRevoked", "sessionsRevoked", "accountDisabled"] as const).map((name) => ({ type: eventTypes[name] })),
  ...(["accountPurged", "credentialCompromise"] as const).map((name) => ({ type: eventTypes[name] })),
  ...(["revoke", "delete", "update"] as const).map(change),
];
test.each(ends)("$type $event.change_type ends sessions", async (changes) => {
  expect((await taken(changes)).status).toBe(202);
  expect(await statusOf(running)).toBe("revoked");
});

const stream = { sub_id: { format: "opaque", id: "the-stream" } };
const endsNothing: readonly EventChanges[] = [
  change("create"),
  { type: eventTypes.accountEnabled },
  { ...stream, type: eventTypes.verification, event: { state: "abc" } },
  { ...stream, type: eventTypes.streamUpdated, event: { status: "paused" } },
  ...[...inconsequentialEvents].map((type) => ({ type, sub_id: { format: "email", email: "ada@people.test" } })),
];
test.each(endsNothing)("$type is acknowledged and ends nothing", async (changes) => {
  expect((await taken(changes)).status).toBe(202);
  expect(await statusOf(running)).toBe("active");
});

describe("the person", () => {
  const person = () => ({ format: "iss_sub", iss: plane.provider.issuer, sub: "ada" });
  test.each([
    ["issuer and subject", person],
    ["an opaque identifier", () => ({ format: "opaque", id: "ada" })],
    ["a complex subject", () => ({ format: "complex", user: person(), session: { format: "opaque", id: "s" } })],
  ])("is found by %s", async (_name, sub_id) => {
    expect((await taken({ sub_id: sub_id() })).status).toBe(202);
    expect(await statusOf(running)).toBe("revoked");
  });

  test.each([
    ["an address", () => ({ format: "email", email: "ada@people.test" })],
    ["a subject of another issuer", () => ({ ...person(), iss: "https://evil.test" })],
    ["a subject of the same issuer, written otherwise", () => ({ ...person(), iss: `${plane.provider.issuer}/` })],
    ["a session alone", () => ({ format: "complex", session: { format: "opaque", id: "s" } })],
    ["an old name of the format", () => ({ ...person(), format: "iss-sub" })],
    ["nothing", () => undefined],
  ])("is not found by %s, which is refused", async (_name, sub_id) => {
    const { status, json } = await taken({ sub_id: sub_id() });
    expect([status, json.err]).toEqual([400, "invalid_request"]);
    expect(json.description).toMatch(/^sub_id: /);
    expect(await statusOf(running)).toBe("active");
  });
});

test("a token is good once: the second time it is acknowledged and ends nothing", async () => {
  const token = await signedEvent(plane.provider);
  await deliver(plane, token);
  const later = await consent();
  expect((await deliver(plane.with({}), token)).status).toBe(202);
  expect(await statusOf(later)).toBe("active");
});

test("a token of more than a day ago ends nothing: what ran then is over", async () => {
  expect((await taken({ iat: nowSeconds() - 86_401 })).status).toBe(202);
  expect(await statusOf(running)).toBe("active");
});

describe("an event is acknowledged after its commits alone", () => {
  const fault = () => Promise.reject(new DatabaseUnavailable("down"));
  test.each([
    ["the sessions cannot be ended", () => ({ sessions: { ...plane.deps.sessions, endSome: fault } })],
    ["the sign-ins cannot be ended", () => ({ signIns: { ...plane.deps.signIns, end: fault } })],
    ["the token cannot be kept", () => ({ receivedSets: { ...plane.deps.receivedSets, add: fault } })],
    ["earlier tokens cannot be read", () => ({ receivedSets: { ...plane.deps.receivedSets, has: fault } })],
  ])("%s: 503, and the next delivery ends the rest", async (_name, broken) => {
    const token = await signedEvent(plane.provider);
    const { status, headers } = await deliver(plane.with(broken()), token);
    expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
    expect((await deliver(plane, token)).status).toBe(202);
    expect(await statusOf(running)).toBe("revoked");
  });
});

describe("a hostile token is refused, and ends nothing", () => {
  const claims = (changes: EventChanges = {}) => eventClaims(plane.provider, changes);
  const signed = (changes: EventChanges) => signedEvent(plane.provider, changes);
  const typed = (typ: string) => plane.provider.sign(typ, claims());
  const strangers = generateKeyPair("RS256");
  const byStranger = async (kid: string) =>
    new SignJWT(claims())
      .setProtectedHeader({ alg: "RS256", typ: "secevent+jwt", kid })
      .sign((await strangers).privateKey);
  const bySharedSecret = async () => {
    const { keys } = (await (await fetch(`${plane.provider.issuer}/jwks`)).json()) as { keys: object[] };
    const header = { alg: "HS256", typ: "secevent+jwt", kid: "signing" };
    return new SignJWT(claims()).setProtectedHeader(header).sign(Buffer.from(JSON.stringify(keys[0])));
  };
  const tampered = async (edit: (payload: string) => string) => {
    const [header, payload = "", signature] = (await signed({})).split(".");
    const edited = edit(Buffer.from(payload, "base64url").toString());
    return [header, Buffer.from(edited).toString("base64url"), signature].join(".");
  };
  const two = { [eventTypes.accountDisabled]: {}, [eventTypes.sessionRevoked]: {} };
  test.each<[string, () => Promise<string> | string, string]>([
    ["an ID token", () => typed("JWT"), "invalid_request"],
    ["an identity assertion", () => typed("oauth-id-jag+jwt"), "invalid_request"],
    ["a hop token's type", () => typed("at+jwt"), "invalid_request"],
    ["a logout token's type", () => typed("logout+jwt"), "invalid_request"],
    ["no signature", () => new UnsecuredJWT(claims()).encode(), "invalid_request"],
    ["a shared secret that is the public key", bySharedSecret, "invalid_request"],
    ["another issuer's key", () => byStranger("strange"), "invalid_key"],
    ["another issuer's key under our provider's name", () => byStranger("signing"), "invalid_key"],
    ["another issuer", () => signed({ iss: "https://evil.test" }), "invalid_issuer"],
    ["no issuer", () => signed({ iss: undefined }), "invalid_issuer"],
    ["another audience", () => signed({ aud: "https://evil.test" }), "invalid_audience"],
    ["no audience", () => signed({ aud: undefined }), "invalid_audience"],
    ["a time to come", () => signed({ iat: nowSeconds() + 60 }), "invalid_request"],
    ["no time", () => signed({ iat: undefined }), "invalid_request"],
    ["a time as text", () => signed({ iat: "now" }), "invalid_request"],
    ["an expiry", () => signed({ exp: nowSeconds() + 60 }), "invalid_request"],
    [
      "a subject of the token",
      () => plane.provider.sign("secevent+jwt", { ...claims(), sub: "ada" }),
      "invalid_request",
    ],
    ["no identifier", () => signed({ jti: undefined }), "invalid_request"],
    ["an endless identifier", () => signed({ jti: "x".repeat(256) }), "invalid_request"],
    ["no events", () => signed({ events: undefined }), "invalid_request"],
    ["an empty object of events", () => signed({ events: {} }), "invalid_request"],
    ["several events", () => signed({ events: two }), "invalid_request"],
    ["an event that is no object", () => signed({ events: { [eventTypes.accountDisabled]: true } }), "invalid_request"],
    ["an unknown event", () => signed({ type: `${eventTypes.accountDisabled}s` }), "invalid_request"],
    ["an event by the name of a member of objects", () => signed({ type: "constructor" }), "invalid_request"],
    ["an unknown change of a credential", () => signed(change("borrow")), "invalid_request"],
    [
      "a repeated member",
      () => tampered((json) => json.replace("{", '{"iss":"https://evil.test",')),
      "invalid_request",
    ],
    ["a changed subject", () => tampered((json) => json.replace('"ada"', '"eve"')), "invalid_key"],
    ["no JWT", () => "ada is disabled", "invalid_request"],
    ["nothing", () => "", "invalid_request"],
    ["1 MB", () => "x".repeat(1_048_576), "invalid_request"],
    ["64 KB of padding", () => signed({ padding: "x".repeat(65_536) }), "invalid_request"],
  ])("%s", async (_name, make, err) => {
    const { status, json, headers } = await deliver(plane, await make());
    expect([status, json.err, typeof json.description]).toEqual([400, err, "string"]);
    expect(headers.get("content-language")).toBe("en");
    expect(await statusOf(running)).toBe("active");
  });

  test.each(["application/jwt", "application/json", "application/secevent+jwt; a=b"])("of type %s", async (type) => {
    const { status, json } = await deliver(plane, await signed({}), { type });
    expect([status, json.err]).toEqual([400, "invalid_request"]);
  });

  test.each([
    ["no bearer", ""],
    ["the admin's bearer", tokens.admin],
    ["the identity reader's bearer", tokens.identity],
    ["the token itself", undefined],
  ])("under %s: 401", async (_name, token) => {
    const body = await signed({});
    expect((await deliver(plane, body, { token: token ?? body })).status).toBe(401);
  });

  test("signed by this service: it is no issuer of events to itself", async () => {
    const signingKey = plane.deps.issuerKeys.current().signingKey();
    const header = { alg: signingKey.alg, typ: "secevent+jwt", kid: signingKey.kid };
    const own = await signingKey.sign(header, JSON.stringify(claims()));
    expect((await deliver(plane, own)).json.err).toBe("invalid_key");
  });
});

describe("a security event token counts as nothing else", () => {
  /** As much like an ID token or an assertion as its claims allow. */
  const both = () => ({
    ...eventClaims(plane.provider),
    ...{ sub: "ada", nonce: "n", exp: nowSeconds() + 60, aud: "https://plane.test", client_id: "notebook" },
  });
  test("not as an identity assertion", async () => {
    const token = await plane.provider.sign("secevent+jwt", both());
    expect(await plane.deps.identityAssertions?.verify(token, "https://plane.test")).toBeUndefined();
  });
  test("not as a bearer", async () => {
    const token = await plane.provider.sign("secevent+jwt", both());
    for (const path of ["/v1/session/targets", "/v1/sessions", "/v1/identity/revocations"]) {
      expect((await plane.send(path, { token })).status).toBe(401);
    }
  });
});
