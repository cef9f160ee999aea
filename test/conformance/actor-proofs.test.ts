import { waitUntil } from "@svc/test-support";
import { signActorProof, signIdentityAssertion } from "@svc/tokens";
import { decodeJwt } from "jose";
import { describe, expect, test } from "vitest";
import type { Answer, HopAnswer, HopLine } from "./src/api.ts";
import { newKey } from "./src/enrollment.ts";
import { hop, requiringIdentities } from "./src/identity-required.ts";

const { receiver, stack, api, keyOf, enroll, proofOf, actionFor, take, clerkToken, renew, mint, expectFailure } =
  await requiringIdentities();

const lineOf = (session: string, token: string, more: { actor_token?: string }): HopLine => ({
  ...{ session_id: session, token, ...hop.read, body_settled: true },
  ...more,
});
async function line(...of: Parameters<typeof lineOf>): Promise<HopAnswer> {
  const [answer] = await api.hops([lineOf(...of)]);
  if (answer === undefined) throw new Error("no line was answered");
  return answer;
}

describe("an invalid proof of possession is refused and spends nothing", () => {
  const now = () => Date.now() / 1000;
  type Make = (token: string) => Promise<string> | string;
  const sign = (token: string, changes: object = {}, key = keyOf("clerk")) =>
    stack.actorToken("clerk", key, token, changes);

  test.each<[string, Make]>([
    ["that is no token", () => "x.y.z"],
    ["by another key", async (token) => sign(token, {}, await newKey())],
    ["by another agent's key", (token) => sign(token, {}, keyOf("planner"))],
    ["for another token", async () => sign((await clerkToken()).clerk)],
    ["for another audience", (token) => sign(token, { audience: "https://elsewhere.test" })],
    ["that expired", (token) => sign(token, { nowSeconds: now() - 61 })],
    ["from the future", (token) => sign(token, { nowSeconds: now() + 10 })],
    [
      "over an enrollment challenge",
      (token) =>
        signActorProof(
          keyOf("clerk"),
          { agent: "clerk", audience: decodeJwt(token).iss ?? "", nowSeconds: now(), jti: "j" },
          { nonce: "n" },
        ),
    ],
    [
      "that is an identity assertion",
      (token) =>
        signIdentityAssertion(
          keyOf("clerk"),
          { agent: "clerk", audience: decodeJwt(token).iss ?? "", nowSeconds: now(), jti: "j" },
          token,
        ),
    ],
    ["that is the subject token", (token) => token],
  ])("%s", async (_case, make) => {
    const { session, clerk } = await clerkToken();
    const action = await actionFor(session, clerk, hop.read);
    const bad = { actor_token: await make(clerk), actor_token_type: "urn:ietf:params:oauth:token-type:jwt" };
    await expectFailure("invalid", () => api.exchange(clerk, hop.read, action, bad));
    expect((await api.exchange(clerk, hop.read, action, await proofOf("clerk", clerk))).status).toBe(200);
  });

  test("a proof's jti is accepted once, also with another token", async () => {
    const { session, clerk } = await clerkToken();
    const actor_token = (await proofOf("clerk", clerk)).actor_token;
    const siblings: string[] = (await renew(clerk, { count: 4, actor_token })).body.tokens;
    const jti = crypto.randomUUID();
    const exchanges = await Promise.all(
      siblings.map(async (token) => ({
        token,
        action: await actionFor(session, token, hop.read),
        proof: { ...(await proofOf("clerk", token)), actor_token: await sign(token, { jti }) },
      })),
    );
    const answers = await Promise.all(
      exchanges.map(({ token, action, proof }) => api.exchange(token, hop.read, action, proof)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
    const refused = exchanges[answers.findIndex(({ status }) => status === 400)];
    if (refused === undefined) throw new Error("one was refused");
    await expectFailure("invalid", () => api.exchange(refused.token, hop.read, refused.action, refused.proof));
    const again = await api.exchange(refused.token, hop.read, refused.action, await proofOf("clerk", refused.token));
    expect(again.status).toBe(200);
  });

  test("only a successful exchange uses a proof up", async () => {
    const { session, clerk } = await clerkToken();
    const action = await actionFor(session, clerk, hop.read);
    const proof = await proofOf("clerk", clerk);
    const refused = await api.exchange(clerk, hop.post, action, proof);
    expect([refused.status, refused.body.error]).toEqual([400, "invalid_grant"]);
    expect((await api.exchange(clerk, hop.read, action, proof)).status).toBe(200);
  });

  test("a proof by a replaced key is refused, a proof by the new key is accepted", async () => {
    const former = keyOf("idle");
    await enroll("idle");
    const { token } = await api.consent("books");
    const stale = await renew(token, { actor_token: await stack.actorToken("idle", former, token) });
    expect([stale.status, stale.body.error.code]).toEqual([400, "invalid_request"]);
    expect((await renew(token, { actor_token: (await proofOf("idle", token)).actor_token })).status).toBe(200);
  });
});

describe("a failed proof is counted by its cause where it fails:", () => {
  type Failing = (
    session: string,
    clerk: string,
    more: { actor_token?: string },
  ) => Promise<Pick<Answer, "status" | "body">>;
  const endpoints: Record<string, Failing> = {
    authorize: (session, clerk, more) => api.authorize(session, clerk, hop.read, more),
    hops: async (session, clerk, more) => {
      const { authorize } = await line(session, clerk, more);
      return { status: authorize?.status ?? 0, body: authorize?.body };
    },
    renewal: (_session, clerk, more) => renew(clerk, more),
    exchange: async (session, clerk, more) =>
      api.exchange(clerk, hop.read, await actionFor(session, clerk, hop.read), {
        ...more,
        ...(more.actor_token !== undefined && { actor_token_type: "urn:ietf:params:oauth:token-type:jwt" }),
      }),
    mint: async (session, clerk, more) => {
      const { token, action } = await take(session, clerk, hop.post, "clerk");
      return mint(token, action, more);
    },
  };
  const causes: [string, (token: string) => Promise<{ actor_token?: string }>][] = [
    ["missing", async () => ({})],
    ["invalid", async (token) => proofOf("clerk", token, await newKey())],
    ["wrong_agent", (token) => proofOf("planner", token)],
  ];
  const cases = Object.keys(endpoints).flatMap((name) =>
    // A decision needs no proof.
    causes
      .filter(([cause]) => !["authorize", "hops"].includes(name) || cause !== "missing")
      .map(([cause, make]) => [name, cause, make] as const),
  );

  test.each(cases)("at %s one that is %s", async (name, cause, make) => {
    const { session, clerk } = await clerkToken();
    const { actor_token } = await make(clerk);
    const more = actor_token === undefined ? {} : { actor_token };
    await expectFailure(cause, () => endpoints[name]?.(session, clerk, more));
  });
});

describe("a line of hops", () => {
  const statuses = ({ authorize, exchange }: HopAnswer) => [authorize?.status, exchange?.status];

  test("with the proof of its caller is taken, and without one it is decided alone", async () => {
    const { session, clerk } = await clerkToken();
    expect(statuses(await line(session, clerk, {}))).toEqual([200, undefined]);
    const { actor_token } = await proofOf("clerk", clerk);
    const taken = await line(session, clerk, { actor_token });
    expect(statuses(taken)).toEqual([200, 200]);
    const next = taken.sibling?.token ?? "";
    expect(statuses(await line(session, next, { actor_token }))).toEqual([400, undefined]);
    const own = (await proofOf("clerk", next)).actor_token;
    expect(statuses(await line(session, next, { actor_token: own }))).toEqual([200, 200]);
  });

  test("uses a proof's jti up once with the others of its request, and a refused one spends nothing", async () => {
    const { session, clerk } = await clerkToken();
    const { actor_token } = await proofOf("clerk", clerk);
    const tokens: string[] = (await renew(clerk, { count: 4, actor_token })).body.tokens;
    const jti = crypto.randomUUID();
    const sign = (token: string) => stack.actorToken("clerk", keyOf("clerk"), token, { jti });
    const lines = await Promise.all(
      tokens.map(async (token) => lineOf(session, token, { actor_token: await sign(token) })),
    );
    const answers = await api.hops(lines);
    const refused = answers.filter(({ exchange }) => exchange?.status !== 200);
    expect(
      refused.map(({ authorize, exchange }) => [authorize?.status, exchange?.status, exchange?.body.error]),
    ).toEqual(Array(3).fill([200, 400, "invalid_request"]));
    for (const { line: at } of refused) {
      const token = tokens[at] ?? "";
      const own = (await proofOf("clerk", token)).actor_token;
      expect(statuses(await line(session, token, { actor_token: own }))).toEqual([200, 200]);
    }
  });
});

test("the exchange's span holds the cause of a refused proof, and no span names the agents", async () => {
  const exchanges = () => receiver.spans.filter(({ name }) => name === "authz.exchange");
  const { session, token } = await api.consent("books");
  const action = await actionFor(session, token, hop.planner);
  const stranger = await newKey();
  const proofs = {
    missing: {},
    invalid: await proofOf("planner", token, stranger),
    wrong_agent: await proofOf("teller", token),
  };
  for (const more of Object.values(proofs)) await api.exchange(token, hop.planner, action, more);
  const causes = () =>
    exchanges()
      .filter(({ attributes }) => attributes["authz.session_id"] === session)
      .map(({ attributes }) => attributes["authz.pop_failure_cause"]);
  await waitUntil("the spans to arrive", () => causes().length === 3);
  expect(causes()).toEqual(Object.keys(proofs));
  expect(JSON.stringify(receiver.spans)).not.toMatch(/planner|teller/);
});
