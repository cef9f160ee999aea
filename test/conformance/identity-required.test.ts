import { waitUntil } from "@svc/test-support";
import { type SigningKey, signActorProof, signIdentityAssertion } from "@svc/tokens";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Answer, Api, Hop } from "./src/api.ts";
import { newKey } from "./src/enrollment.ts";
import { type IdentityStack, startIdentityStack } from "./src/identity-stack.ts";
import { type SpanReceiver, startSpanReceiver } from "./src/span-receiver.ts";

let receiver: SpanReceiver;
let stack: IdentityStack;
let api: Api;

/** The entry agents planner, teller and idle, of which teller has a tool; clerk and stray are delegated to. */
const names = ["planner", "teller", "idle", "clerk"] as const;
const keys: Record<string, SigningKey> = {};

const hop = {
  planner: { target: "planner", target_kind: "agent", data_class: "finance" },
  clerk: { target: "clerk", target_kind: "agent", data_class: "finance" },
  stray: { target: "stray", target_kind: "agent", data_class: "finance" },
  read: { target: "http:books/read", target_kind: "tool", data_class: "finance" },
  post: { target: "http:books/post", target_kind: "tool", data_class: "finance" },
  pay: { target: "http:till/pay", target_kind: "tool", data_class: "finance" },
} as const satisfies Record<string, Hop>;

beforeAll(async () => {
  receiver = await startSpanReceiver();
  stack = await startIdentityStack({ SVC_IDENTITY_REQUIRED: "true", ...receiver.env });
  api = stack.api;
  const tool = (ref: string, more: object = {}) => ({ ref, data_classes: ["finance"], ...more });
  const manifests = {
    planner: { downstream_agents: ["clerk", "stray"] },
    teller: { tools: [tool(hop.pay.target, { privileged: true })] },
    idle: {},
    clerk: { tools: [tool(hop.read.target), tool(hop.post.target, { privileged: true })] },
    stray: { tools: [tool(hop.read.target)] },
  };
  for (const [name, scope] of Object.entries(manifests)) {
    const { status, text } = await api.attest(name, { books: { hop_budget: 4, ...scope } });
    if (status !== 201) throw new Error(text);
  }
  for (const name of names) keys[name] = await stack.enrolled(name, stack.provider);
}, 60_000);
afterAll(async () => {
  await stack.stop();
  await receiver.stop();
});

const keyOf = (agent: string): SigningKey => {
  const key = keys[agent];
  if (key === undefined) throw new Error(`${agent} has no key`);
  return key;
};

/** The fields that an agent's proof adds to an exchange of this token. */
const proofOf = async (agent: string, token: string, key = keyOf(agent)) => ({
  actor_token: await stack.actorToken(agent, key, token),
  actor_token_type: "urn:ietf:params:oauth:token-type:jwt",
});

/** Decides, and exchanges with the prover's proof. */
async function take(session: string, token: string, asked: Hop, prover: string) {
  const decision = await api.authorize(session, token, asked);
  if (decision.body?.decision !== "allow") throw new Error(`authorize: ${decision.text}`);
  const action = decision.body.action_id as string;
  const { status, body, text } = await api.exchange(token, asked, action, await proofOf(prover, token));
  if (status !== 200) throw new Error(`exchange: ${text}`);
  return { token: body.access_token as string, action };
}

async function clerkToken() {
  const { session, token: root } = await api.consent("books");
  const planner = await take(session, root, hop.planner, "planner");
  const clerk = await take(session, planner.token, hop.clerk, "planner");
  return { session, clerk: clerk.token };
}

const actionFor = async (session: string, token: string, asked: Hop): Promise<string> =>
  (await api.authorize(session, token, asked)).body.action_id;

const renew = (token: string, more: object = {}) =>
  api.call("POST", "/v1/token/renew", { bearer: token, body: { count: 1, ...more } });
const mint = (token: string, action_id: string, more: object = {}) =>
  api.call("POST", "/v1/token/transaction", { bearer: token, body: { action_id, params: { amount: 1 }, ...more } });

async function failures(cause: string): Promise<number> {
  const { text } = await api.call("GET", "/metrics");
  return Number(new RegExp(`^svc_exchange_pop_failures_total\\{cause="${cause}"\\} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
}

/** The refusal of a proof, counted and told on the span under its cause. */
async function expectFailure(cause: string, exchange: () => Promise<Answer>): Promise<void> {
  const before = await failures(cause);
  const { status, body } = await exchange();
  expect([status, body.error]).toEqual([400, "invalid_request"]);
  expect(await failures(cause)).toBe(before + 1);
}

describe("hop 1, where the human calls, wants the proof", () => {
  const fresh = async (asked: Hop) => {
    const { session, token } = await api.consent("books");
    return { token, action: await actionFor(session, token, asked) };
  };

  test.each<[string, Hop, string]>([
    ["of the agent that is delegated to", hop.planner, "planner"],
    ["of an entry agent that declares the tool", hop.pay, "teller"],
  ])("%s", async (_case, asked, prover) => {
    const { token, action } = await fresh(asked);
    expect((await api.exchange(token, asked, action, await proofOf(prover, token))).status).toBe(200);
    const [spent] = await stack.sql<{ prover: string }[]>`select prover from spend where action_id = ${action}`;
    expect(spent?.prover).toBe(prover);
  });

  test.each<[string, Hop, string]>([
    ["another entry agent for a delegation", hop.planner, "teller"],
    ["an agent further down", hop.planner, "clerk"],
    ["an entry agent that does not declare the tool", hop.pay, "idle"],
    ["an agent that declares another tool", hop.pay, "clerk"],
  ])("and not of %s", async (_case, asked, prover) => {
    const { token, action } = await fresh(asked);
    const proof = await proofOf(prover, token);
    await expectFailure("wrong_agent", () => api.exchange(token, asked, action, proof));
  });

  test("and not none", async () => {
    const { token, action } = await fresh(hop.planner);
    await expectFailure("missing", () => api.exchange(token, hop.planner, action));
  });
});

describe("a later hop wants the proof of the caller itself", () => {
  test("at every step", async () => {
    const { session, clerk } = await clerkToken();
    expect((await take(session, clerk, hop.read, "clerk")).token).toBeTypeOf("string");
  });

  test.each(["planner", "teller"])("and not that of %s", async (prover) => {
    const { session, clerk } = await clerkToken();
    const action = await actionFor(session, clerk, hop.read);
    const proof = await proofOf(prover, clerk);
    await expectFailure("wrong_agent", () => api.exchange(clerk, hop.read, action, proof));
  });

  test("and not that of the agent which is delegated to", async () => {
    const { session, token } = await api.consent("books");
    const planner = await take(session, token, hop.planner, "planner");
    const action = await actionFor(session, planner.token, hop.clerk);
    const proof = await proofOf("clerk", planner.token);
    await expectFailure("wrong_agent", () => api.exchange(planner.token, hop.clerk, action, proof));
  });

  test("so an agent that never enrolled is decided against, and its proof is of no one", async () => {
    const { session, token } = await api.consent("books");
    const planner = await take(session, token, hop.planner, "planner");
    const stray = await take(session, planner.token, hop.stray, "planner");
    const decision = await api.authorize(session, stray.token, hop.read);
    expect(decision.body).toMatchObject({ decision: "deny", deny_reason: "IDENTITY_REQUIRED" });
    const proof = await proofOf("stray", stray.token, await newKey());
    await expectFailure("not_enrolled", () => api.exchange(stray.token, hop.read, decision.body.action_id, proof));
  });
});

describe("a proof that does not hold is refused and spends nothing", () => {
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
      "that answers a challenge",
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

  test("a proof's jti is good once, also for another token", async () => {
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

  test("a proof is used up by success alone", async () => {
    const { session, clerk } = await clerkToken();
    const action = await actionFor(session, clerk, hop.read);
    const proof = await proofOf("clerk", clerk);
    const refused = await api.exchange(clerk, hop.post, action, proof);
    expect([refused.status, refused.body.error]).toEqual([400, "invalid_grant"]);
    expect((await api.exchange(clerk, hop.read, action, proof)).status).toBe(200);
  });

  test("a replaced key proves nothing, its successor does", async () => {
    const former = keyOf("idle");
    keys.idle = await stack.enrolled("idle", stack.provider);
    const { token } = await api.consent("books");
    const stale = await renew(token, { actor_token: await stack.actorToken("idle", former, token) });
    expect([stale.status, stale.body.error.code]).toEqual([400, "invalid_request"]);
    expect((await renew(token, { actor_token: (await proofOf("idle", token)).actor_token })).status).toBe(200);
  });
});

describe("a decision takes no proof that does not hold, and needs none", () => {
  test("none, a good one, and a bad one", async () => {
    const { session, clerk } = await clerkToken();
    const { actor_token } = await proofOf("clerk", clerk);
    expect((await api.authorize(session, clerk, hop.read)).body.decision).toBe("allow");
    const decision = await api.authorize(session, clerk, hop.read, { actor_token });
    expect(decision.body.decision).toBe("allow");
    const bad = await api.authorize(session, clerk, hop.read, {
      actor_token: (await proofOf("planner", clerk)).actor_token,
    });
    expect([bad.status, bad.body.error.code]).toEqual([400, "invalid_request"]);
    const proof = { ...(await proofOf("clerk", clerk)), actor_token };
    expect((await api.exchange(clerk, hop.read, decision.body.action_id, proof)).status).toBe(200);
  });
});

describe("renewing", () => {
  test.each(["planner", "teller", "idle"])("a root grant takes the proof of the entry agent %s", async (prover) => {
    const { token } = await api.consent("books");
    expect((await renew(token, { actor_token: (await proofOf(prover, token)).actor_token })).status).toBe(200);
  });

  test("a root grant takes no other agent's, and not none", async () => {
    const { token } = await api.consent("books");
    expect((await renew(token, { actor_token: (await proofOf("clerk", token)).actor_token })).status).toBe(400);
    expect((await renew(token)).status).toBe(400);
  });

  test("an agent's token takes that agent's alone", async () => {
    const { clerk } = await clerkToken();
    expect((await renew(clerk, { actor_token: (await proofOf("planner", clerk)).actor_token })).status).toBe(400);
    const answer = await renew(clerk, { actor_token: (await proofOf("clerk", clerk)).actor_token });
    expect(answer.status).toBe(200);
  });
});

describe("minting wants the proof that the exchange wanted, over the narrowed token", () => {
  const refusedMint = async (answer: Promise<Answer>) => {
    const { status, body } = await answer;
    expect([status, body.error.code]).toEqual([400, "invalid_request"]);
  };

  test("of the caller", async () => {
    const { session, clerk } = await clerkToken();
    const { token, action } = await take(session, clerk, hop.post, "clerk");
    await refusedMint(mint(token, action));
    await refusedMint(mint(token, action, { actor_token: (await proofOf("planner", token)).actor_token }));
    await refusedMint(mint(token, action, { actor_token: (await proofOf("clerk", clerk)).actor_token }));
    const minted = await mint(token, action, { actor_token: (await proofOf("clerk", token)).actor_token });
    expect(minted.status).toBe(200);
    const [row] = await stack.sql<{ prover: string }[]>`select prover from mint where action_id = ${action}`;
    expect(row?.prover).toBe("clerk");
  });

  test("at hop 1 of an entry agent that declares the tool", async () => {
    const { session, token: root } = await api.consent("books");
    const { token, action } = await take(session, root, hop.pay, "teller");
    await refusedMint(mint(token, action, { actor_token: (await proofOf("idle", token)).actor_token }));
    const minted = await mint(token, action, { actor_token: (await proofOf("teller", token)).actor_token });
    expect(minted.status).toBe(200);
  });
});

test("the cause of a refused proof is on the exchange's span, and nowhere else who sent it", async () => {
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

test("a revoked agent proves nothing, also where no chain names it", async () => {
  const { session, token } = await api.consent("books");
  const action = await actionFor(session, token, hop.pay);
  await stack.revoke("teller");
  const proof = await proofOf("teller", token);
  await expectFailure("not_enrolled", () => api.exchange(token, hop.pay, action, proof));
  expect((await renew(token, { actor_token: proof.actor_token })).status).toBe(400);
});
