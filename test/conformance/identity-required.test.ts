import { describe, expect, test } from "vitest";
import type { Answer, Hop } from "./src/api.ts";
import { newKey } from "./src/enrollment.ts";
import { hop, requiringIdentities } from "./src/identity-required.ts";

const { stack, api, proofOf, actionFor, take, clerkToken, renew, mint, expectFailure } = await requiringIdentities();

describe("hop 1, where the person calls,", () => {
  const fresh = async (asked: Hop) => {
    const { session, token } = await api.consent("books");
    return { token, action: await actionFor(session, token, asked) };
  };

  test.each<[string, Hop, string]>([
    ["takes a proof of the agent that is delegated to", hop.planner, "planner"],
    ["takes a proof of an entry agent that declares the tool", hop.pay, "teller"],
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
  ])("refuses the proof of %s", async (_case, asked, prover) => {
    const { token, action } = await fresh(asked);
    const proof = await proofOf(prover, token);
    await expectFailure("wrong_agent", () => api.exchange(token, asked, action, proof));
  });

  test("refuses a missing proof", async () => {
    const { token, action } = await fresh(hop.planner);
    await expectFailure("missing", () => api.exchange(token, hop.planner, action));
  });
});

describe("the proof of an entry agent that is blocked", () => {
  const block = (method: string, agent: string) =>
    api.call(method, `/v1/blocks/agent/${agent}`, {
      bearer: api.tokens.admin,
      ...(method === "PUT" && { body: { reason: "an incident" } }),
    });

  test("is refused while another agent in good standing could prove", async () => {
    const { token } = await api.consent("books");
    const proof = { actor_token: (await proofOf("idle", token)).actor_token };
    await block("PUT", "idle");
    try {
      expect((await renew(token, proof)).status).toBe(400);
    } finally {
      await block("DELETE", "idle");
    }
    expect((await renew(token, proof)).status).toBe(200);
  });

  test("reaches the verdict where it alone lends the tool, so that the deny is recorded", async () => {
    const { session, token } = await api.consent("books");
    const { actor_token } = await proofOf("teller", token);
    await block("PUT", "teller");
    try {
      const { status, body } = await api.authorize(session, token, hop.pay, { actor_token });
      expect([status, body.decision, body.deny_reason]).toEqual([200, "deny", "TARGET_BLOCKED"]);
    } finally {
      await block("DELETE", "teller");
    }
  });
});

describe("a later hop", () => {
  test("takes the proof of the caller", async () => {
    const { session, clerk } = await clerkToken();
    expect((await take(session, clerk, hop.read, "clerk")).token).toBeTypeOf("string");
  });

  test.each(["planner", "teller"])("refuses the proof of %s, which is not the caller", async (prover) => {
    const { session, clerk } = await clerkToken();
    const action = await actionFor(session, clerk, hop.read);
    const proof = await proofOf(prover, clerk);
    await expectFailure("wrong_agent", () => api.exchange(clerk, hop.read, action, proof));
  });

  test("refuses the proof of the agent that is delegated to", async () => {
    const { session, token } = await api.consent("books");
    const planner = await take(session, token, hop.planner, "planner");
    const action = await actionFor(session, planner.token, hop.clerk);
    const proof = await proofOf("clerk", planner.token);
    await expectFailure("wrong_agent", () => api.exchange(planner.token, hop.clerk, action, proof));
  });

  test("is refused to an agent that never enrolled", async () => {
    const { session, token } = await api.consent("books");
    const planner = await take(session, token, hop.planner, "planner");
    const stray = await take(session, planner.token, hop.stray, "planner");
    const decision = await api.authorize(session, stray.token, hop.read);
    expect(decision.body).toMatchObject({ decision: "deny", deny_reason: "IDENTITY_REQUIRED" });
    const proof = await proofOf("stray", stray.token, await newKey());
    await expectFailure("not_enrolled", () => api.exchange(stray.token, hop.read, decision.body.action_id, proof));
  });
});

describe("a decision", () => {
  test("needs no proof, leaves a valid one unspent and refuses an invalid one", async () => {
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
  test.each(["planner", "teller", "idle"])("a root grant takes a proof of the entry agent %s", async (prover) => {
    const { token } = await api.consent("books");
    expect((await renew(token, { actor_token: (await proofOf(prover, token)).actor_token })).status).toBe(200);
  });

  test("a root grant is refused with another agent's proof and without one", async () => {
    const { token } = await api.consent("books");
    expect((await renew(token, { actor_token: (await proofOf("clerk", token)).actor_token })).status).toBe(400);
    expect((await renew(token)).status).toBe(400);
  });

  test("an agent's token takes that agent's proof alone", async () => {
    const { clerk } = await clerkToken();
    expect((await renew(clerk, { actor_token: (await proofOf("planner", clerk)).actor_token })).status).toBe(400);
    const answer = await renew(clerk, { actor_token: (await proofOf("clerk", clerk)).actor_token });
    expect(answer.status).toBe(200);
  });
});

describe("minting takes a proof over the narrowed token,", () => {
  const refusedMint = async (answer: Promise<Answer>) => {
    const { status, body } = await answer;
    expect([status, body.error.code]).toEqual([400, "invalid_request"]);
  };

  test("by the caller alone", async () => {
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

  test("at hop 1 by an entry agent that declares the tool", async () => {
    const { session, token: root } = await api.consent("books");
    const { token, action } = await take(session, root, hop.pay, "teller");
    await refusedMint(mint(token, action, { actor_token: (await proofOf("idle", token)).actor_token }));
    const minted = await mint(token, action, { actor_token: (await proofOf("teller", token)).actor_token });
    expect(minted.status).toBe(200);
  });
});

test("a revoked agent's proof is refused, also where no chain contains the agent", async () => {
  const { session, token } = await api.consent("books");
  const action = await actionFor(session, token, hop.pay);
  await stack.revoke("teller");
  const proof = await proofOf("teller", token);
  await expectFailure("not_enrolled", () => api.exchange(token, hop.pay, action, proof));
  expect((await renew(token, { actor_token: proof.actor_token })).status).toBe(400);
});
