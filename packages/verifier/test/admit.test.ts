import { siblingClaims } from "@svc/tokens";
import { describe, expect, test } from "vitest";
import type { AdmitRequest, RefusalCause, VerifierOptions } from "../src/index.ts";
import { admit, causeOf, verifierOf } from "./support/admitting.ts";
import {
  callHeaders,
  dataClass,
  headersOf,
  hopClaims,
  issuer,
  newKey,
  params,
  rootClaims,
  sessionId,
  sign,
  target,
  transactionOf,
} from "./support/tokens.ts";

test("a call with its token and session is admitted with the facts of its token", async () => {
  const claims = hopClaims({ agents: ["planner", "clerk"] });
  expect(await admit({ headers: headersOf(await sign(claims)) })).toEqual({
    sub: "user-1",
    caller: "clerk",
    actChain: ["user-1", "planner", "clerk", target],
    hop: 4,
    audience: target,
    targetKind: "tool",
    dataClass,
    sessionId,
    actionId: claims.actionId,
    policyVersion: 3,
    taint: "trusted_internal",
    privileged: false,
    agent: null,
    expiresAt: claims.exp,
  });
});

describe("the token", () => {
  const refusing = async (token: string | Promise<string>) => causeOf(admit({ headers: headersOf(await token) }));

  test.each<[string, () => Promise<string>, RefusalCause]>([
    ["of another kind", () => transactionOf(hopClaims({ privileged: true })), "type"],
    ["renewed", () => sign(siblingOf()), "type"],
    ["signed by a stranger", async () => sign(hopClaims(), await newKey()), "signature"],
    ["of another issuer", () => sign({ ...hopClaims(), iss: "https://evil.test" }), "issuer"],
    ["for another target", () => sign(hopClaims({ audience: "http:ledger/read_entry" })), "audience"],
    ["for a target that only begins alike", () => sign(hopClaims({ audience: `${target}s` })), "audience"],
    ["expired for longer than the leeway", () => sign(hopClaims({ nowSeconds: Date.now() / 1000 - 66 })), "expired"],
    ["from the future", () => sign(hopClaims({ nowSeconds: Date.now() / 1000 + 7 })), "malformed"],
    ["of another session", () => sign({ ...hopClaims(), sessionId: "other" }), "session_mismatch"],
    ["for a sibling class", () => sign(hopClaims({ scope: "finance.reports" })), "data_class"],
    ["for a class that only begins alike", () => sign(hopClaims({ scope: "finance.entr" })), "data_class"],
    ["for a narrower class", () => sign(hopClaims({ scope: "finance.entries.mine" })), "data_class"],
  ])("%s: refused", async (_name, token, want) => {
    expect(await refusing(token())).toBe(want);
  });

  const siblingOf = () => {
    const nowSeconds = Date.now() / 1000;
    const issuance = { jti: "sibling", nowSeconds, sessionExpiresAtSeconds: nowSeconds + 60 };
    return siblingClaims(hopClaims({ targetKind: "agent" }), "trusted_internal", issuance);
  };

  test("its data class covers those below it", async () => {
    expect(await refusing(sign(hopClaims({ scope: "finance" })))).toBe("admitted");
  });

  test("without a session header the call is refused", async () => {
    const headers = { authorization: `Bearer ${await sign(hopClaims())}` };
    expect(await causeOf(admit({ headers }))).toBe("session_mismatch");
  });

  test("a root grant is for the issuer alone, also where the audience has the same name", async () => {
    const by = verifierOf({ audience: issuer });
    expect(await causeOf(admit({ headers: headersOf(await sign(rootClaims())), dataClass: "expenses" }, by))).toBe(
      "audience",
    );
  });

  test.each([
    [4_999, "admitted"],
    [5_000, "expired"],
  ])("%i ms after its exp: %s", async (lateMs, want) => {
    const claims = hopClaims();
    const by = verifierOf({ now: () => claims.exp * 1000 + lateMs });
    expect(await causeOf(admit({ headers: headersOf(await sign(claims)) }, by))).toBe(want);
  });

  test("a token with a cached signature expires like any other", async () => {
    const claims = hopClaims();
    let nowMs = Date.now();
    const by = verifierOf({ now: () => nowMs });
    const headers = headersOf(await sign(claims));
    expect(await causeOf(admit({ headers }, by))).toBe("admitted");
    nowMs = (claims.exp + 5) * 1000;
    expect(await causeOf(admit({ headers }, by))).toBe("expired");
  });
});

describe("the audience", () => {
  test("can be several, computed per request, or given with the call", async () => {
    const headers = await callHeaders();
    expect(await causeOf(admit({ headers }, verifierOf({ audience: ["http:ledger/x", target] })))).toBe("admitted");
    expect(await causeOf(admit({ headers }, verifierOf({ audience: ({ dataClass: asked }) => `${asked}!` })))).toBe(
      "audience",
    );
    expect(await causeOf(admit({ headers }, verifierOf({ audience: () => target })))).toBe("admitted");
    expect(await causeOf(admit({ headers, audience: "http:ledger/x" }))).toBe("audience");
    expect(await causeOf(admit({ headers, audience: target }, verifierOf({ audience: "http:ledger/x" })))).toBe(
      "admitted",
    );
  });
});

const privileged = hopClaims({ privileged: true });
const token = await sign(privileged);

describe("a privileged call", () => {
  const attempt = async (transaction: string | undefined, body: AdmitRequest["params"] = params) =>
    causeOf(
      admit(
        { headers: headersOf(token, transaction === undefined ? {} : { "txn-token": transaction }), params: body },
        verifierOf(),
      ),
    );

  test("is admitted once, in any spelling of its parameters", async () => {
    const by = verifierOf();
    const headers = headersOf(token, { "txn-token": await transactionOf(privileged) });
    expect(await causeOf(admit({ headers, params: '{ "to": "7", "amount": 1.25e1 }' }, by))).toBe("admitted");
    expect(await causeOf(admit({ headers, params }, by))).toBe("replayed");
    const again = headersOf(token, { "txn-token": await transactionOf(privileged) });
    expect(await causeOf(admit({ headers: again, params }, by))).toBe("replayed");
  });

  test("binds its parameters equally as text, bytes or a value", async () => {
    const transaction = await transactionOf(privileged);
    expect(await attempt(transaction, new TextEncoder().encode(params))).toBe("admitted");
    expect(await attempt(transaction, JSON.parse(params))).toBe("admitted");
  });

  test("one of ten concurrent ones is admitted", async () => {
    const by = verifierOf();
    const headers = headersOf(token, { "txn-token": await transactionOf(privileged) });
    const causes = await Promise.all(Array.from({ length: 10 }, () => causeOf(admit({ headers, params }, by))));
    expect(causes.filter((cause) => cause === "admitted")).toHaveLength(1);
    expect(causes.filter((cause) => cause === "replayed")).toHaveLength(9);
  });

  test("is not spent where its parameters are rejected", async () => {
    const by = verifierOf();
    const headers = headersOf(token, { "txn-token": await transactionOf(privileged) });
    expect(await causeOf(admit({ headers, params: "{}" }, by))).toBe("params_mismatch");
    expect(await causeOf(admit({ headers, params }, by))).toBe("admitted");
  });

  test.each<[string, () => Promise<string> | undefined, RefusalCause]>([
    ["none", () => undefined, "transaction_missing"],
    ["the hop token", () => Promise.resolve(token), "transaction_invalid"],
    ["nonsense", async () => "nonsense", "transaction_invalid"],
    ["another session's", () => transactionOf(privileged, { sessionId: "other" }), "transaction_invalid"],
    ["another human's", () => transactionOf(privileged, { sub: "user-2" }), "transaction_invalid"],
    ["another audience's", () => transactionOf(privileged, { aud: "http:ledger/x" }), "transaction_invalid"],
    ["another target's", () => transactionOf(privileged, { target: "http:ledger/x" }), "transaction_invalid"],
    ["another class's", () => transactionOf(privileged, { scope: "finance" }), "transaction_invalid"],
    ["another action's", () => transactionOf(privileged, { actionId: "other" }), "transaction_invalid"],
    ["another caller's", () => transactionOf(privileged, { caller: "mallory" }), "transaction_invalid"],
    ["another hop token's", () => transactionOf(privileged, { hopJtiHash: "other" }), "transaction_invalid"],
    [
      "an expired one",
      () => transactionOf(privileged, { exp: Math.floor(Date.now() / 1000) - 6 }),
      "transaction_invalid",
    ],
    ["another issuer's", () => transactionOf(privileged, { iss: "https://evil.test" }), "transaction_invalid"],
    ["one for other parameters", () => transactionOf(privileged, {}, "{}"), "params_mismatch"],
  ])("with %s: refused", async (_name, transaction, want) => {
    expect(await attempt(await transaction())).toBe(want);
  });

  test.each<[string, AdmitRequest["params"]]>([
    ["no", undefined],
    ["unparsable", "{"],
    ["ambiguous", '{"amount":12.5,"to":"7","to":"7"}'],
    ["other", '{"amount":12.6,"to":"7"}'],
  ])("with %s parameters: refused", async (_name, body) => {
    const headers = headersOf(token, { "txn-token": await transactionOf(privileged) });
    expect(await causeOf(verifierOf().admit({ headers, dataClass, params: body }))).toBe("params_mismatch");
  });

  test("a route can require a transaction where the policy does not", async () => {
    const headers = await callHeaders();
    expect(await causeOf(admit({ headers, transactionRequired: true }))).toBe("transaction_missing");
  });

  test("a failing replay store admits no call", async () => {
    const by = verifierOf({ replayStore: { admitOnce: () => Promise.reject(new Error("down")) } });
    const headers = headersOf(token, { "txn-token": await transactionOf(privileged) });
    await expect(admit({ headers, params }, by)).rejects.toThrow("down");
  });
});

test.each<[string, Partial<VerifierOptions>]>([
  ["no keys", { jwks: undefined }],
  ["two key sets", { jwksUrl: "http://127.0.0.1/jwks" }],
  ["no audience", { audience: [] }],
  ["no issuer", { issuer: "" }],
  ["identityRequired without a view", { identityRequired: true }],
  ["a view refreshed too seldom", { identityView: { url: "http://127.0.0.1", token: "t", refreshSeconds: 60 } }],
  ["no freshness", { freshnessSeconds: 0 }],
])("%s is a TypeError of the constructor", (_name, options) => {
  expect(() => verifierOf(options)).toThrow(TypeError);
});

test("an invalid key set admits no call", async () => {
  const by = verifierOf({ jwks: { nothing: true } });
  await expect(by.ready()).rejects.toThrow();
  await expect(admit({ headers: await callHeaders() }, by)).rejects.toThrow();
});

test("a refusal's message contains its cause and nothing of the token", async () => {
  const token = await sign(hopClaims({ audience: "http:ledger/secret" }));
  const error: Error = await admit({ headers: headersOf(token) }).then(
    () => Promise.reject(new Error("admitted")),
    (refused) => refused,
  );
  expect(error.message).toBe("not admitted: audience");
  expect(error.name).toBe("AdmissionRefused");
});
