import fc from "fast-check";
import { expect, test } from "vitest";
import { type HopClaims, issueHopToken, issueTransactionToken, verifyToken } from "../src/index.ts";
import {
  agentHop,
  forge,
  issuer,
  makeKeyPair,
  nowSeconds,
  payloadOf,
  rootGrant,
  toolHop,
  transaction,
} from "./fixtures.ts";

const pair = await makeKeyPair();

const options = () => ({ keys: pair.keys, issuer, nowSeconds });
const header = (typ: string) => ({ alg: "ES256", typ, kid: pair.signing.kid });

/** Signed by the issuer's own key, so that only the claims can be at fault. */
const hopWith = async (base: "root" | "agent" | "tool", change: Record<string, unknown>) => {
  const claims = { root: rootGrant, agent: agentHop, tool: toolHop }[base]();
  const payload = { ...payloadOf(await issueHopToken(pair.signing, claims)), ...change };
  return verifyToken("hop", forge(pair.jwk, header("at+jwt"), payload), options());
};

const three = { sub: "planner", act: { sub: "planner", act: { sub: "ana" } } };
const odd: ["root" | "agent" | "tool", string, unknown][] = [
  ...["iss", "sub", "aud", "scope", "iat", "exp", "jti", "hop", "sid", "policy_version", "taint"].flatMap(
    (claim): ["root" | "tool", string, unknown][] => [
      ["root", claim, undefined],
      ["tool", claim, undefined],
      ["tool", claim, null],
    ],
  ),
  ...["act", "action_id", "target_kind", "privileged"].map((claim): ["tool", string, unknown] => [
    "tool",
    claim,
    undefined,
  ]),
  ["root", "act", { sub: "ana" }],
  ["root", "action_id", "action-9"],
  ["root", "target_kind", "tool"],
  ["root", "privileged", true],
  ["root", "aud", "mcp:ledger/post_entry"],
  ["root", "hop", 2],
  ["tool", "hop", 0],
  ["tool", "hop", -1],
  ["tool", "hop", 1],
  ["tool", "hop", 2],
  ["tool", "hop", 4],
  ["tool", "hop", 65],
  ["tool", "hop", 2 ** 31],
  ["tool", "hop", 2.5],
  ["tool", "hop", "3"],
  ["tool", "act", three],
  ["tool", "act", { sub: "ana" }],
  ["tool", "act", { sub: "planner", act: { sub: "bea" } }],
  ["tool", "act", { sub: "ana", act: { sub: "planner" } }],
  ["tool", "sub", "bea"],
  ["tool", "sub", "planner"],
  ["agent", "act", { sub: "bea" }],
  ["agent", "sub", "bea"],
  ["tool", "act", { sub: "planner", act: {} }],
  ["tool", "act", { sub: "planner", act: null }],
  ["tool", "act", { sub: "planner", act: { sub: "" } }],
  ["tool", "act", { sub: "planner", act: [{ sub: "ana" }] }],
  ["tool", "act", [{ sub: "planner", act: { sub: "ana" } }]],
  ["tool", "act", "ana"],
  ["tool", "aud", ["mcp:ledger/post_entry"]],
  ["tool", "aud", ""],
  ["tool", "sub", ["ana"]],
  ["tool", "sub", ""],
  ["tool", "exp", String(nowSeconds + 60)],
  ["tool", "exp", 1e21],
  ["tool", "exp", nowSeconds + 0.5],
  ["tool", "exp", -1],
  ["tool", "iat", "0"],
  ["tool", "iat", 0.5],
  ["tool", "nbf", String(nowSeconds)],
  ["tool", "nbf", null],
  ["tool", "nbf", 0.5],
  ["tool", "taint", "trusted"],
  ["tool", "target_kind", "human"],
  ["tool", "privileged", "true"],
  ["tool", "policy_version", 0],
  ["tool", "renewed", 1],
];

test.each(odd)("a %s token whose %s is %j is malformed, though the issuer signed it", async (base, claim, value) => {
  expect(await hopWith(base, { [claim]: value })).toEqual({ ok: false, cause: "malformed" });
});

test("a chain of 64 is read, and one of 65 is not", async () => {
  const chain = (hops: number) =>
    Array.from({ length: hops - 1 }).reduce<HopClaims>((subject) => agentHop(subject), rootGrant());
  const verify = async (hops: number) => verifyToken("hop", await issueHopToken(pair.signing, chain(hops)), options());
  expect(await verify(64)).toMatchObject({ ok: true, claims: { hop: 64 } });
  expect(await verify(65)).toEqual({ ok: false, cause: "malformed" });
});

test("unknown claims are ignored", async () => {
  expect(await hopWith("tool", { client_id: "x", cnf: { jkt: "y" } })).toMatchObject({ ok: true });
});

const payloads: [string, string][] = [
  ["a repeated claim", '{"sub":"bea"'],
  ["a claim repeated in an escape", '{"s\\u0075b":"bea"'],
  ["a repeated member inside a claim", '{"x":{"a":1,"a":1}'],
  ["a lone surrogate", '{"x":"\\ud800"'],
  ["a number that no double holds", '{"x":9007199254740993'],
  ["an infinite number", '{"x":1e400'],
];
test.each(payloads)("%s is malformed, since readers could read it differently", async (_name, start) => {
  const payload = JSON.stringify(payloadOf(await issueHopToken(pair.signing, toolHop())));
  const token = forge(pair.jwk, header("at+jwt"), payload.replace("{", `${start},`));
  expect(await verifyToken("hop", token, options())).toEqual({ ok: false, cause: "malformed" });
});

test.each(["[]", "null", '"x"', "1", "", "{", "{}{}", "\uFEFF{}"])("a payload %j is malformed", async (payload) => {
  const token = forge(pair.jwk, header("at+jwt"), payload || " ");
  expect(await verifyToken("hop", token, options())).toEqual({ ok: false, cause: "malformed" });
});

const transactionClaimNames = [
  "sub",
  "aud",
  "scope",
  "txn",
  "req_wl",
  "sid",
  "tctx",
  "hop_jti_hash",
  "iss",
  "iat",
  "exp",
  "jti",
];
const oddTransactions: [string, unknown][] = [
  ...transactionClaimNames.map((claim): [string, unknown] => [claim, undefined]),
  ["tctx", { target: "x" }],
  ["tctx", { params_hash: "x" }],
  ["tctx", []],
  ["aud", ["mcp:ledger/post_entry"]],
  ["txn", 7],
];
test.each(oddTransactions)("a transaction token whose %s is %j is malformed", async (claim, value) => {
  const payload = { ...payloadOf(await issueTransactionToken(pair.signing, transaction())), [claim]: value };
  const token = forge(pair.jwk, header("txntoken+jwt"), payload);
  expect(await verifyToken("transaction", token, options())).toEqual({ ok: false, cause: "malformed" });
});

test("every chain of agents is read as it was issued", async () => {
  const name = fc.string({ minLength: 1, maxLength: 20, unit: "grapheme" }).filter((text) => text.isWellFormed());
  await fc.assert(
    fc.asyncProperty(fc.array(name, { maxLength: 40 }), async (agents) => {
      const claims = agents.reduce((subject, agent) => agentHop(subject, agent), rootGrant());
      const token = await issueHopToken(pair.signing, claims);
      expect(await verifyToken("hop", token, options())).toEqual({ ok: true, claims });
    }),
    { numRuns: 50 },
  );
});
