import { describe, expect, test } from "vitest";
import type { Hop } from "./src/api.ts";
import { ledgerForTests } from "./src/for-tests.ts";
import { clerkSession, ledgerHops } from "./src/ledger.ts";

const { api, scope, name } = await ledgerForTests();

const hops = ledgerHops(scope);

describe("a decision", () => {
  test("of an allow has every field, and no reason", async () => {
    const { session, clerk } = await clerkSession(api, scope);
    const answer = await api.authorize(session, clerk.token, hops.post);
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: {
        action_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
        decision: "allow",
        deny_reason: null,
        recoverable: false,
        enforced: true,
        hop: 3,
        acting_agent: hops.clerk.target,
        target: hops.post.target,
        target_kind: "tool",
        data_class: "finance.entries",
        privileged: true,
        transaction_required: true,
        taint: "trusted_internal",
        taint_source: null,
        accepts_taint: false,
        policy_version: expect.any(Number),
        guarantee_level: "network",
        decided_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      },
    });
  });

  test("at hop 1 records the person as the actor", async () => {
    const { session, token } = await api.consent(scope);
    const { body } = await api.authorize(session, token, hops.planner);
    expect(body).toMatchObject({ decision: "allow", hop: 1, acting_agent: "ada", transaction_required: false });
  });

  test.each<[string, (hop: typeof hops) => Hop]>([
    ["TARGET_NOT_DECLARED", ({ read }) => ({ ...read, target: "http:no/where" })],
    ["DATA_CLASS_NOT_DECLARED", ({ read }) => ({ ...read, data_class: "web" })],
    ["TARGET_NOT_DECLARED", ({ planner }) => ({ ...planner, data_class: "web" })],
  ])("that denies has reason %s, is recorded, and cannot be recovered", async (reason, hopOf) => {
    const { session, clerk } = await clerkSession(api, scope);
    const { status, body } = await api.authorize(session, clerk.token, hopOf(hops));
    expect([status, body.decision, body.deny_reason, body.recoverable]).toEqual([200, "deny", reason, false]);
    const { hops: chain } = (await api.chain(body.action_id)).body;
    expect(chain.at(-1)).toMatchObject({ action_id: body.action_id, decision: "deny", deny_reason: reason });
  });

  test("that another consent would admit is recoverable, and names exactly the scopes that would", async () => {
    const [agent, upper] = [name("agent"), name("upper")];
    const [narrow, wide, unreachable] = [name("narrow"), name("wide"), name("unreachable")];
    const tool = { target: `http:${wide}/read`, target_kind: "tool", data_class: "finance" } as const;
    const declared = { hop_budget: 2, tools: [{ ref: tool.target, data_classes: ["finance"] }] };
    await api.attest(agent, {
      [narrow]: { hop_budget: 2, tools: [{ ref: `http:${narrow}/read`, data_classes: ["finance"] }] },
      [wide]: declared,
      [unreachable]: { ...declared, entry: false },
    });
    await api.attest(upper, { [unreachable]: { hop_budget: 3, downstream_agents: [agent] } });
    const { session, token } = await api.consent(narrow);
    const { token: held } = await api.hop(session, token, {
      target: agent,
      target_kind: "agent",
      data_class: "finance",
    });
    for (const presented of [token, held]) {
      expect((await api.authorize(session, presented, tool)).body).toMatchObject({
        decision: "deny",
        deny_reason: "SCOPE_NOT_CONSENTED",
        recoverable: true,
        consentable_scopes: [wide],
      });
    }
  });

  test("never exceeds the token's narrowed data class", async () => {
    const { session, token } = await api.consent(scope);
    const narrow = { ...hops.planner, data_class: "web" };
    const planner = await api.hop(session, token, narrow);
    const { body } = await api.authorize(session, planner.token, { ...hops.clerk, data_class: "finance.entries" });
    expect(body).toMatchObject({ decision: "deny", deny_reason: "DATA_CLASS_WIDENED" });
  });

  test("is refused for another session's token and for a tool's token", async () => {
    const [mine, theirs] = [await clerkSession(api, scope), await clerkSession(api, scope)];
    expect((await api.authorize(theirs.session, mine.clerk.token, hops.read)).status).toBe(401);
    const tool = await api.hop(mine.session, mine.clerk.token, hops.read);
    expect((await api.authorize(mine.session, tool.token, hops.read)).status).toBe(401);
  });

  test.each<[string, Record<string, unknown>]>([
    ["an unknown member", { tiant: "untrusted_external" }],
    ["an unknown taint", { taint: "none" }],
    ["an unknown kind of target", { target_kind: "robot" }],
    ["no target", { target: "" }],
    ["a target with NUL", { target: "http:x\0" }],
    ["enforced as text", { enforced: "false" }],
  ])("with %s is malformed", async (_case, change) => {
    const { session, token } = await api.consent(scope);
    const answer = await api.authorize(session, token, hops.planner, change);
    expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_request"]);
  });
});

describe("the hop budget of a path is the smallest of its agents'", () => {
  test.each([
    ["a later member declares more", 2, 32],
    ["a later member declares less", 32, 2],
  ])("where %s: the chain reaches it and no further", async (_case, ofFirst, ofSecond) => {
    const own = name("budget");
    const [first, second] = [name("first"), name("second")];
    const tool = { target: `http:${own}/read`, target_kind: "tool", data_class: "finance" } as const;
    const tools = [{ ref: tool.target, data_classes: ["finance"] }];
    const agent = (target: string) => ({ target, target_kind: "agent", data_class: "finance" }) as const;
    await api.attest(second, { [own]: { hop_budget: ofSecond, tools } });
    await api.attest(first, { [own]: { hop_budget: ofFirst, tools, downstream_agents: [second] } });
    const { session, token, body } = await api.consent(own);
    expect(body.hop_budget).toBe(ofFirst);
    const atFirst = await api.hop(session, token, agent(first));
    const [here, below] = (await api.renew(atFirst.token, 2)).body.tokens;
    expect((await api.authorize(session, here, tool)).body.decision).toBe("allow");
    const atSecond = await api.hop(session, below, agent(second));
    const { body: beyond } = await api.authorize(session, atSecond.token, tool);
    expect(beyond).toMatchObject({ decision: "deny", deny_reason: "HOP_BUDGET_EXCEEDED", hop: 3 });
  });
});

test("a person cannot call an agent that another agent lists and that is not an entry agent", async () => {
  const { session, token } = await api.consent(scope);
  const { body } = await api.authorize(session, token, hops.clerk);
  expect(body).toMatchObject({ decision: "deny", deny_reason: "TARGET_NOT_DECLARED", hop: 1 });
});

describe("observe mode", () => {
  test("changes the record, never the decision (needs observe mode admitted)", async (context) => {
    const { session, clerk } = await clerkSession(api, scope);
    const nowhere = { ...hops.read, target: "http:no/where" };
    const observed = await api.authorize(session, clerk.token, nowhere, { enforced: false });
    if (observed.status === 400) context.skip("needs observe mode admitted for every scope");
    expect(observed.body).toMatchObject({ decision: "deny", deny_reason: "TARGET_NOT_DECLARED", enforced: false });
    const { body } = await api.decisions(`session_id=${session}&enforced=false&outcome=deny`);
    expect(body.data.map(({ action_id }: { action_id: string }) => action_id)).toEqual([observed.body.action_id]);
  });
});

test("the list of targets contains exactly the targets that a decision allows", async () => {
  const { clerk } = await clerkSession(api, scope);
  const { status, body } = await api.call("GET", "/v1/session/targets", { bearer: clerk.token });
  expect(status).toBe(200);
  const listed = body.data.map(({ target, privileged }: Record<string, unknown>) => [target, privileged]);
  expect(listed.sort()).toEqual([
    [hops.browse.target, false],
    [hops.post.target, true],
    [hops.read.target, false],
  ]);
});
