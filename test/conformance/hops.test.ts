import { requires } from "@svc/test-support";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { describe, expect, test } from "vitest";
import type { Api, Hop, HopAnswer, HopLine } from "./src/api.ts";
import { ledgerForTests, pairForTests } from "./src/for-tests.ts";
import { clerkSession } from "./src/ledger.ts";

const { api, scope } = await ledgerForTests();

const line = (session: string, token: string, hop: Hop, more: object = {}): HopLine => ({
  session_id: session,
  token,
  ...hop,
  body_settled: true,
  ...more,
});
const one = async (on: Api, ...of: Parameters<typeof line>): Promise<HopAnswer> => {
  const [answer] = await on.hops([line(...of)]);
  if (answer === undefined) throw new Error("no line was answered");
  return answer;
};
/** The person's own calls of a tool that refuses taint, and of one that takes it. */
async function readerSession() {
  const name = `reader-${crypto.randomUUID()}`;
  const tool = { target_kind: "tool", data_class: "finance.entries" } as const;
  const hops = {
    guarded: { ...tool, target: `http:${name}/guarded` },
    open: { ...tool, target: `http:${name}/open` },
  };
  const tools = [
    { ref: hops.guarded.target, data_classes: [tool.data_class], accepts_taint: false },
    { ref: hops.open.target, data_classes: [tool.data_class], accepts_taint: true },
  ];
  await api.attest(name, { [name]: { hop_budget: 1, tools } });
  return { ...(await api.consent(name)), hops };
}

const payloadOf = (token: string) => JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());

describe("a call that is allowed and settled", () => {
  test("is decided, recorded, spent and signed at once, and brings a sibling in place of its token", async () => {
    const { session, clerk, hops } = await clerkSession(api, scope);
    const { authorize, exchange, sibling, stages } = await one(api, session, clerk.token, hops.read);
    expect([authorize?.status, exchange?.status]).toEqual([200, 200]);
    expect(authorize?.body).toMatchObject({ decision: "allow", ...hops.read, enforced: true });
    const keys = createRemoteJWKSet(new URL(`${api.url}/.well-known/jwks.json`));
    const { payload } = await jwtVerify(exchange?.body.access_token, keys, {
      typ: "at+jwt",
      audience: hops.read.target,
    });
    expect(payload).toMatchObject({ action_id: authorize?.body.action_id, scope: hops.read.data_class, sid: session });
    const { jti, iat, exp, renewed, ...same } = payloadOf(sibling?.token ?? "");
    const { jti: _jti, iat: _iat, exp: _exp, ...before } = payloadOf(clerk.token);
    expect([same, renewed, exp - iat]).toEqual([before, true, sibling?.expires_in]);
    expect(stages).toEqual({ decide: expect.any(Number), exchange: expect.any(Number) });
    expect((await api.chain(authorize?.body.action_id)).body).toMatchObject({ complete: true });
  });

  test("continues with the sibling, and its own token is spent", async () => {
    const { session, clerk, hops } = await clerkSession(api, scope);
    const first = await one(api, session, clerk.token, hops.read);
    const second = await one(api, session, first.sibling?.token ?? "", hops.read);
    expect(second.exchange?.status).toBe(200);
    for (const spent of [clerk.token, first.sibling?.token ?? ""]) {
      const { exchange, sibling } = await one(api, session, spent, hops.read);
      expect([exchange?.status, exchange?.body.error, sibling]).toEqual([400, "invalid_grant", undefined]);
    }
  });

  test("of an open body is taken only where the target accepts taint", async () => {
    const { session, token, hops } = await readerSession();
    const open = await one(api, session, token, hops.guarded, { body_settled: false });
    expect([open.authorize?.body.decision, open.exchange, open.sibling]).toEqual(["allow", undefined, undefined]);
    expect((await api.exchange(token, hops.guarded, open.authorize?.body.action_id)).status).toBe(200);
    const other = await readerSession();
    const accepting = await one(api, other.session, other.token, other.hops.open, { body_settled: false });
    expect(accepting.exchange?.status).toBe(200);
  });
});

describe("the decision alone is answered, and the token stays unspent,", () => {
  const unspent = async (session: string, token: string, { read }: { readonly read: Hop }) =>
    expect((await one(api, session, token, read)).exchange?.status).toBe(200);

  test("for a deny", async () => {
    const { session, clerk, hops } = await clerkSession(api, scope);
    const answer = await one(api, session, clerk.token, { ...hops.read, target: "http:elsewhere/read" });
    expect(answer.authorize?.body).toMatchObject({ decision: "deny", deny_reason: "TARGET_NOT_DECLARED" });
    expect([answer.exchange, answer.sibling]).toEqual([undefined, undefined]);
    await unspent(session, clerk.token, hops);
  });

  test("for a delegation, whose exchange follows", async () => {
    const { hops } = await clerkSession(api, scope);
    const consented = await api.consent(scope);
    const answer = await one(api, consented.session, consented.token, hops.planner);
    expect([answer.authorize?.body.decision, answer.exchange]).toEqual(["allow", undefined]);
    const { status } = await api.exchange(consented.token, hops.planner, answer.authorize?.body.action_id);
    expect(status).toBe(200);
  });

  test("for a privileged call, whose exchange and mint follow", async () => {
    const { session, clerk, hops } = await clerkSession(api, scope);
    const answer = await one(api, session, clerk.token, hops.post);
    expect([answer.authorize?.body.transaction_required, answer.exchange]).toEqual([true, undefined]);
    const action = answer.authorize?.body.action_id;
    const { body } = await api.exchange(clerk.token, hops.post, action);
    expect((await api.mint(body.access_token, action, {})).status).toBe(200);
  });

  test("for a call that sets marks, and not for the next one", async () => {
    const { session, clerk, hops } = await clerkSession(api, scope);
    const first = await one(api, session, clerk.token, hops.browse);
    expect([first.authorize?.body.decision, first.exchange]).toEqual(["allow", undefined]);
    const second = await one(api, session, clerk.token, hops.browse);
    expect(second.exchange?.status).toBe(200);
    expect(payloadOf(second.sibling?.token ?? "").taint).toBe("untrusted_external");
  });
});

describe("a sibling", () => {
  const withSibling = async () => {
    const { session, clerk, hops } = await clerkSession(api, scope);
    const { sibling, authorize } = await one(api, session, clerk.token, hops.read);
    return { session, hops, token: sibling?.token ?? "", action: authorize?.body.action_id as string };
  };

  test("serves at every endpoint for current-hop tokens", async () => {
    const { session, hops, token } = await withSibling();
    const decision = await api.authorize(session, token, hops.read);
    expect([decision.status, decision.body.decision]).toEqual([200, "allow"]);
    expect((await api.call("GET", "/v1/session/targets", { bearer: token })).status).toBe(200);
    const { status, body } = await api.renew(token, 1);
    expect(status).toBe(200);
    expect((await api.exchange(body.tokens[0], hops.read, decision.body.action_id)).status).toBe(200);
    expect((await api.exchange(token, hops.read, decision.body.action_id)).status).toBe(400);
  });

  test("mints nothing, and no published key verifies it", async () => {
    const { token, action } = await withSibling();
    expect((await api.mint(token, action, {})).status).toBe(404);
    expect((await api.mint(token, payloadOf(token).action_id, {})).status).toBe(409);
    const keys = createRemoteJWKSet(new URL(`${api.url}/.well-known/jwks.json`));
    await expect(jwtVerify(token, keys)).rejects.toThrow();
  });
});

describe("a request", () => {
  test("answers each line by itself, whatever another holds", async () => {
    const { session, clerk, hops } = await clerkSession(api, scope);
    const good = JSON.stringify(line(session, clerk.token, hops.read));
    const lines = [
      "{}",
      "not JSON",
      good,
      JSON.stringify(line(session, "no.token.ours", hops.read)),
      JSON.stringify(line(crypto.randomUUID(), clerk.token, hops.read)),
      JSON.stringify({ ...line(session, clerk.token, hops.read), more: 1 }),
      good.replace('"session_id"', '"session_id":"a","session_id"'),
      "",
    ];
    const { status, text } = await api.hopLines(lines.join("\n"));
    expect(status).toBe(200);
    const answers = text
      .trimEnd()
      .split("\n")
      .map((each): HopAnswer => JSON.parse(each))
      .sort((a, b) => a.line - b.line);
    expect(answers.map(({ authorize, exchange }) => [authorize?.status, exchange?.status])).toEqual([
      [400, undefined],
      [400, undefined],
      [200, 200],
      [401, undefined],
      [401, undefined],
      [400, undefined],
      [400, undefined],
    ]);
  });

  test.each<[string, string, string, number, string]>([
    ["65 lines", "{}\n".repeat(65), "application/x-ndjson", 413, "payload_too_large"],
    ["over 1 MiB", " ".repeat(1_048_577), "application/x-ndjson", 413, "payload_too_large"],
    ["another type", "{}\n", "application/json", 415, "unsupported_media_type"],
  ])("of %s is refused before any line is read", async (_name, body, type, status, code) => {
    const answer = await api.hopLines(body, type);
    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
  });

  test("with a token in two of its lines spends it once", async () => {
    const { session, clerk, hops } = await clerkSession(api, scope);
    const answers = await api.hops([line(session, clerk.token, hops.read), line(session, clerk.token, hops.read)]);
    expect(answers.map(({ exchange }) => exchange?.status).sort()).toEqual([200, 400]);
    expect(answers.filter(({ sibling }) => sibling !== undefined)).toHaveLength(1);
  });
});

const twice = requires("redis-server");
const { one: first, other } = await pairForTests();

twice.test("of 64 lines with one token, over two processes and several requests, one is taken", async () => {
  const { session, clerk, hops } = await clerkSession(first, "books");
  const eight = Array.from({ length: 8 }, () => line(session, clerk.token, hops.read));
  const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? first : other).hops(eight)));
  const told = answers.flat().map(({ exchange }) => `${exchange?.status} ${exchange?.body.error ?? ""}`);
  expect(told.sort()).toEqual(["200 ", ...Array(63).fill("400 invalid_grant")]);
});
