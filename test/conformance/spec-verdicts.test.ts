import { describe, expect, test } from "vitest";
import { ledgerForTests } from "./src/for-tests.ts";
import { clerkSession, ledgerHops, registerLedger } from "./src/ledger.ts";

const { api, name } = await ledgerForTests();
const scope = name("verdicts");
await registerLedger(api, scope);
const hops = ledgerHops(scope);
const clerk = hops.clerk.target;
const planner = hops.planner.target;

async function verdicts(query: Readonly<Record<string, string>>) {
  const search = new URLSearchParams({ agent: clerk, ...query });
  return api.call("GET", `/v1/audit/verdicts?${search}`, { bearer: api.tokens.audit });
}
const block = (kind: string, ref: string, method: "PUT" | "DELETE") =>
  api.call(method, `/v1/blocks/${kind}/${encodeURIComponent(ref)}`, {
    bearer: api.tokens.admin,
    ...(method === "PUT" && { body: { reason: "an incident" } }),
  });

describe("a verdict on an agent's call", () => {
  test.each(["read", "post", "browse"] as const)("is what the decision on the same call then is: %s", async (call) => {
    const { body } = await verdicts({ target: hops[call].target });
    expect(body).toMatchObject({ agent: clerk, target: hops[call].target });
    const { session, clerk: held } = await clerkSession(api, scope);
    const decided = await api.authorize(session, held.token, hops[call]);
    expect(body.verdicts).toEqual([
      {
        scope,
        policy_version: expect.any(Number),
        chain: [planner, clerk],
        target_kind: "tool",
        data_class: hops[call].data_class,
        decision: decided.body.decision,
        deny_reason: null,
        privileged: call === "post",
        remedy: null,
      },
    ]);
  });

  test("is for the data class that it names, or for each that the agent declares", async () => {
    const named = await verdicts({ target: hops.read.target, data_class: "web" });
    expect(named.body.verdicts).toMatchObject([{ data_class: "web", deny_reason: "DATA_CLASS_NOT_DECLARED" }]);
    const delegation = await verdicts({ agent: planner, target: clerk });
    expect(delegation.body.verdicts).toMatchObject([
      { target_kind: "agent", data_class: "finance.entries", decision: "allow", chain: [planner] },
      { target_kind: "agent", data_class: "web", decision: "allow" },
    ]);
  });

  test("has the reason and the remedy of each deny", async () => {
    const { body } = await verdicts({ target: "http:elsewhere/read" });
    expect(body.verdicts).toMatchObject([{ decision: "deny", deny_reason: "TARGET_NOT_DECLARED" }]);
    expect(body.verdicts[0].remedy).toMatch(/^Add \{"ref":"http:elsewhere\/read","data_classes":\["DATA_CLASS"\]\}/);
  });

  test.each([
    ["tool", hops.read.target],
    ["agent", planner],
    ["agent", clerk],
    ["scope", scope],
  ])("is denied under a block in force now: %s %s", async (kind, ref) => {
    await block(kind, ref, "PUT");
    const { body } = await verdicts({ target: hops.read.target });
    await block(kind, ref, "DELETE");
    expect(body.verdicts).toMatchObject([{ deny_reason: "TARGET_BLOCKED", remedy: expect.stringContaining(ref) }]);
    expect((await verdicts({ target: hops.read.target })).body.verdicts).toMatchObject([{ decision: "allow" }]);
  });

  test("leaves no record", async () => {
    const newest = async () =>
      (await api.call("GET", `/v1/audit/decisions?agent=${clerk}`, { bearer: api.tokens.audit })).body.data;
    const before = await newest();
    await verdicts({ target: hops.read.target });
    await verdicts({ target: "http:elsewhere/read" });
    expect(await newest()).toEqual(before);
  });

  test("is there for no scope that the agent does not act in", async () => {
    expect((await verdicts({ target: hops.read.target, scope: "elsewhere" })).body.verdicts).toEqual([]);
  });

  test("of an agent that was never registered is 404", async () => {
    const { status, body } = await verdicts({ agent: "nobody-at-all", target: "http:x" });
    expect([status, body.error.code]).toEqual([404, "agent_not_found"]);
  });
});

test("scopes are listed by name, each with its newest policy", async () => {
  const { body } = await api.call("GET", "/v1/scopes?limit=200", { bearer: api.tokens.audit });
  expect(body.data).toContainEqual({ scope, version: expect.any(Number), compiled_at: expect.stringMatching(/Z$/) });
  const names = body.data.map((row: { scope: string }) => row.scope);
  expect(names).toEqual([...names].sort());
  const of = async (agent: string) =>
    (await api.call("GET", `/v1/scopes?agent=${agent}`, { bearer: api.tokens.audit })).body.data;
  expect(await of(clerk)).toMatchObject([{ scope }]);
  expect(await of("nobody-at-all")).toEqual([]);
});
