import { describe, expect, test } from "vitest";
import type { Hop } from "./src/api.ts";
import { enrolling, newKey } from "./src/enrollment.ts";
import { deploymentForTests } from "./src/for-tests.ts";

const { api, name: nameFor } = await deploymentForTests();
const { issuer } = (await api.call("GET", "/.well-known/oauth-authorization-server")).body;
const { begin, complete, prove, revoke } = enrolling(api);

const admin = (method: string, path: string, body?: object) =>
  api.call(method, path, { bearer: api.tokens.admin, ...(body && { body }) });

/** What an operator, or an enrollment without a person, does to an agent. */
const denials = {
  AGENT_REVOKED: (agent: string) => revoke(agent),
  async AGENT_QUARANTINED(agent: string) {
    const key = await newKey();
    const { body } = await begin(agent, { key });
    return complete(body.enrollment_id, await prove(agent, key, body.challenge, { audience: issuer }));
  },
  TARGET_BLOCKED: (agent: string) => admin("PUT", `/v1/blocks/agent/${agent}`, { reason: "an incident" }),
} as const;
type Reason = keyof typeof denials;
const reasons = Object.keys(denials) as readonly Reason[];

async function deny(agent: string, reason: Reason): Promise<void> {
  const { status, text } = await denials[reason](agent);
  if (status !== 200) throw new Error(`${reason} of ${agent}: ${status} ${text}`);
}

/** A scope in which these agents, all entries, lend the same two tools. */
async function lent(...roles: readonly string[]) {
  const scope = nameFor("lent");
  const agents = roles.map((role) => `${role}-${scope}`);
  const tools = [
    { ref: `http:${scope}/read`, data_classes: ["finance"] },
    { ref: `http:${scope}/post`, data_classes: ["finance"], access: "write", privileged: true },
  ];
  for (const agent of agents) await api.attest(agent, { [scope]: { hop_budget: 3, tools } });
  const [first = "", second = ""] = agents;
  const read: Hop = { target: `http:${scope}/read`, target_kind: "tool", data_class: "finance" };
  const post: Hop = { ...read, target: `http:${scope}/post` };
  return { scope, first, second, read, post };
}

const targetsOf = async (bearer: string) =>
  (await api.call("GET", "/v1/session/targets", { bearer })).body.data.map(({ target }: { target: string }) => target);

describe.each(reasons)("the person's own calls, where the agent that lends the tools is denied: %s", (reason) => {
  test("are denied from the next decision, exchange, mint, renewal and list of targets on", async () => {
    const { scope, first, read, post } = await lent("clerk");
    const { session, token: root } = await api.consent(scope);
    const [forExchange, forMint, forRenewal, spare] = (await api.renew(root, 4)).body.tokens;
    const allow = (await api.authorize(session, forExchange, read)).body;
    const posted = await api.hop(session, forMint, post);
    expect(await targetsOf(spare)).toEqual([first, post.target, read.target].toSorted());
    await deny(first, reason);

    const decision = await api.authorize(session, spare, read);
    expect(decision.body).toMatchObject({ decision: "deny", deny_reason: reason, acting_agent: "ada" });
    const exchanged = await api.exchange(forExchange, read, allow.action_id);
    expect([exchanged.status, exchanged.body.error]).toEqual([403, "invalid_target"]);
    const minted = await api.mint(posted.token, posted.action, { amount: 1 });
    expect([minted.status, minted.body.error.code, minted.body.details.deny_reason]).toEqual([
      403,
      "mint_refused",
      reason,
    ]);
    const renewed = await api.renew(forRenewal, 1);
    expect([renewed.status, renewed.body.error.code, renewed.body.details.deny_reason]).toEqual([
      403,
      "renewal_refused",
      reason,
    ]);
    expect(await targetsOf(spare)).toEqual([]);
  });

  test("go on while another agent in good standing lends the tool", async () => {
    const { scope, first, read, post } = await lent("clerk", "tutor");
    const { session, token: root } = await api.consent(scope);
    const [forExchange, spare] = (await api.renew(root, 2)).body.tokens;
    const allow = (await api.authorize(session, forExchange, read)).body;
    await deny(first, reason);
    expect((await api.exchange(forExchange, read, allow.action_id)).status).toBe(200);
    expect(await targetsOf(spare)).toEqual(expect.arrayContaining([read.target, post.target]));
    const posted = await api.hop(session, spare, post);
    expect((await api.mint(posted.token, posted.action, { amount: 1 })).status).toBe(200);
  });

  test("are explained by the agent that lends the tool", async () => {
    const { scope, first, read } = await lent("clerk");
    const { session, token } = await api.consent(scope);
    await deny(first, reason);
    const { action_id } = (await api.authorize(session, token, read)).body;
    const { body } = await api.call("GET", `/v1/audit/actions/${action_id}/explanation`, { bearer: api.tokens.audit });
    expect(body.checks[1].facts.lenders).toEqual([first]);
    expect(body.remedy).toContain(`through an agent that lends it, and none is in good standing`);
    expect(body.remedy).toContain(first);
  });

  test("cannot be consented to: 409, which names the agents, and no session starts", async () => {
    const { scope, first, second } = await lent("clerk", "tutor");
    await deny(first, reason);
    expect((await admin("POST", "/v1/consent", { scope, user_sub: "ada" })).status).toBe(201);
    await deny(second, "TARGET_BLOCKED");
    const refused = await admin("POST", "/v1/consent", { scope, user_sub: "bob" });
    expect([refused.status, refused.body.error.code, refused.body.details]).toEqual([
      409,
      "no_agent_in_good_standing",
      {
        agents: [
          { agent: first, deny_reason: reason },
          { agent: second, deny_reason: "TARGET_BLOCKED" },
        ],
      },
    ]);
    const query = new URLSearchParams({ scope, user_sub: "bob" });
    expect((await api.call("GET", `/v1/sessions?${query}`, { bearer: api.tokens.audit })).body.data).toEqual([]);
  });
});

test("the reason is the first that any of the lenders gives, whatever their order", async () => {
  const { scope, first, second, read } = await lent("clerk", "tutor");
  const { session, token } = await api.consent(scope);
  await deny(first, "TARGET_BLOCKED");
  await deny(second, "AGENT_REVOKED");
  expect((await api.authorize(session, token, read)).body).toMatchObject({ deny_reason: "AGENT_REVOKED" });
});

test("a lifted block lends the tools again, to the same session", async () => {
  const { scope, first, read } = await lent("clerk");
  const { session, token } = await api.consent(scope);
  await deny(first, "TARGET_BLOCKED");
  expect((await api.authorize(session, token, read)).body).toMatchObject({ deny_reason: "TARGET_BLOCKED" });
  expect((await admin("DELETE", `/v1/blocks/agent/${first}`)).status).toBe(204);
  expect((await api.authorize(session, token, read)).body).toMatchObject({ decision: "allow" });
  expect((await admin("POST", "/v1/consent", { scope, user_sub: "ada" })).status).toBe(201);
});
