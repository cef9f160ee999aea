import { beforeAll, describe, expect, test } from "vitest";
import { ledgerForTests } from "./src/for-tests.ts";
import { clerkSession, ledgerHops, registerLedger } from "./src/ledger.ts";

const { api, name } = await ledgerForTests();
const scope = name("replay");
const hops = ledgerHops(scope);
const clerk = hops.clerk.target;
const nowhere = { ...hops.read, target: `http:${scope}/nowhere` };
const since = new Date().toISOString();

interface Change {
  readonly agent: string;
  readonly target: string;
  readonly becomes: string;
}

const replay = (changes: object) => api.call("POST", "/v1/audit/replay", { bearer: api.tokens.audit, body: changes });
const candidate = (tools: object[], more: object = {}) => ({
  ...{ agent: clerk, since },
  manifest: { scopes: { [scope]: { hop_budget: 4, tools, ...more } } },
});
const read = { ref: hops.read.target, data_classes: ["finance.entries"] };

const decided = { allowed: "", denied: "" };
beforeAll(async () => {
  await registerLedger(api, scope);
  const { session, clerk: held } = await clerkSession(api, scope);
  const [one, two] = (await api.renew(held.token, 2)).body.tokens;
  decided.allowed = (await api.authorize(session, one, hops.read)).body.action_id;
  decided.denied = (await api.authorize(session, two, nowhere)).body.action_id;
});

describe("a candidate manifest", () => {
  test("lists the denied calls that it would admit, and the admitted ones that it would deny", async () => {
    const { status, body } = await replay(candidate([{ ...read, ref: nowhere.target }]));
    const common = { scope, agent: clerk, target_kind: "tool", data_class: "finance.entries", count: 1 };
    const times = { first_ts: expect.any(String), last_ts: expect.any(String) };
    const change = (facts: object) => ({ ...common, deny_reason: "TARGET_NOT_DECLARED", ...times, ...facts });
    const ofClerk = body.changes.filter(({ agent }: Change) => agent === clerk);
    expect([status, ofClerk.toSorted((a: Change, b: Change) => (a.becomes < b.becomes ? -1 : 1))]).toEqual([
      200,
      [
        change({ target: nowhere.target, becomes: "allow", action_ids: [decided.denied] }),
        change({ target: hops.read.target, becomes: "deny", action_ids: [decided.allowed] }),
      ],
    ]);
    expect(body).toMatchObject({ next_cursor: null });
    expect(body.judged).toBeGreaterThanOrEqual(4);
    expect(body.read).toBeGreaterThanOrEqual(body.judged);
  });

  test("that declares the same changes nothing", async () => {
    const tools = [read, { ref: hops.browse.target, data_classes: ["web"], result_taint: "untrusted_external" }];
    expect((await replay(candidate(tools))).body.changes).toEqual([]);
  });

  test("that drops a scope denies what was allowed there", async () => {
    const dropped = { agent: clerk, since, manifest: { scopes: { [name("other")]: { hop_budget: 2 } } } };
    const { body } = await replay(dropped);
    expect(body.changes.map(({ agent, becomes }: Change) => [agent, becomes])).toContainEqual([clerk, "deny"]);
  });

  test("is stored nowhere", async () => {
    const admin = (path: string) => api.call("GET", path, { bearer: api.tokens.admin });
    const before = (await admin(`/v1/scopes/${scope}/catalog`)).body;
    await replay(candidate([]));
    await replay({ ...candidate([read]), agent: name("newcomer") });
    expect((await admin(`/v1/scopes/${scope}/catalog`)).body).toEqual(before);
    expect((await admin(`/v1/agents/resolve?name=${name("newcomer")}`)).status).toBe(404);
  });

  test("is replayed on the decisions of one caller, one scope and one span", async () => {
    const all = candidate([]);
    const judged = async (filter: object) => (await replay({ ...all, ...filter })).body.judged;
    expect(await judged({ acting_agent: clerk, scope })).toBe(2);
    expect(await judged({ acting_agent: name("nobody") })).toBe(0);
    expect(await judged({ until: since })).toBe(0);
  });

  test.each([
    ["a scope that it does not touch", { scope: "elsewhere" }, 404, "scope_not_found"],
    ["a cursor of another request", { cursor: "AAAA" }, 400, "invalid_request"],
    ["a span that ends before it begins", { until: "2020-01-01T00:00:00Z" }, 400, "invalid_request"],
    ["a manifest that is none", { manifest: { scopes: 1 } }, 400, "invalid_request"],
  ])("is refused for %s", async (_, change, status, code) => {
    const answer = await replay({ ...candidate([read]), ...change });
    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
  });
});
