import { decodeJwt } from "jose";
import { describe, expect, test } from "vitest";
import { ledgerForTests } from "./src/for-tests.ts";
import { clerkSession, ledgerHops } from "./src/ledger.ts";

const { api, scope, name } = await ledgerForTests();
const hops = ledgerHops(scope);

/** The marked members of a session, sorted; the person as null. */
async function markedIn(session: string): Promise<(string | null)[]> {
  const { body } = await api.call("GET", `/v1/sessions/${session}`, { bearer: api.tokens.audit });
  return body.taint_marks.map(({ agent }: { agent: string | null }) => agent).sort();
}

describe("taint", () => {
  test("of an untrusted source marks the whole chain, and blocks the privileged call", async () => {
    const { session, clerk } = await clerkSession(api, scope);
    const [browsing, writing] = (await api.renew(clerk.token, 2)).body.tokens;
    expect((await api.authorize(session, browsing, hops.browse)).body.decision).toBe("allow");
    expect(await markedIn(session)).toEqual([hops.clerk.target, hops.planner.target]);
    expect((await api.authorize(session, writing, hops.post)).body).toMatchObject({
      decision: "deny",
      deny_reason: "TAINT_BLOCKED",
      taint: "untrusted_external",
      taint_source: hops.browse.target,
    });
  });

  test("flows back to the agents that delegated to the marked agent, and to no other", async () => {
    const own = name("shared");
    const [asker, other, idle, surfer] = ["asker", "other", "idle", "surfer"].map(name) as [
      string,
      string,
      string,
      string,
    ];
    const browse = { ref: `http:${own}/browse`, data_classes: ["web"], result_taint: "untrusted_external" };
    await api.attest(surfer, { [own]: { hop_budget: 4, tools: [browse] } });
    for (const agent of [asker, other, idle]) {
      await api.attest(agent, { [own]: { hop_budget: 4, downstream_agents: [surfer] } });
    }
    const to = (target: string) => ({ target, target_kind: "agent", data_class: "web" }) as const;
    const { session, token } = await api.consent(own);
    const roots: string[] = (await api.renew(token, 3)).body.tokens;
    const held = [];
    for (const [n, agent] of [asker, other, idle].entries())
      held.push((await api.hop(session, roots[n] ?? "", to(agent))).token);
    const [ofAsker = "", ofOther = ""] = held;
    await api.hop(session, ofOther, to(surfer));
    const atSurfer = await api.hop(session, ofAsker, to(surfer));
    await api.authorize(session, atSurfer.token, { target: browse.ref, target_kind: "tool", data_class: "web" });
    expect(await markedIn(session)).toEqual([asker, other, surfer].sort());
  });

  test("flows to the delegated agent with a delegation", async () => {
    const { session, token } = await api.consent(scope);
    const planner = await api.hop(session, token, hops.planner);
    const delegated = await api.authorize(session, planner.token, hops.clerk, { taint: "untrusted_external" });
    expect(delegated.body).toMatchObject({ decision: "allow", taint: "untrusted_external", taint_source: "declared" });
    expect(await markedIn(session)).toEqual([hops.clerk.target, hops.planner.target]);
    const { body } = await api.exchange(planner.token, hops.clerk, delegated.body.action_id);
    expect(decodeJwt(body.access_token).taint).toBe("untrusted_external");
  });

  test("is additive: a request raises it and never lowers it", async () => {
    const { session, clerk } = await clerkSession(api, scope);
    const raised = await api.authorize(session, clerk.token, hops.read, { taint: "untrusted_external" });
    expect(raised.body).toMatchObject({ taint: "untrusted_external", taint_source: "declared" });
    const lowered = await api.authorize(session, clerk.token, hops.read, { taint: "trusted_internal" });
    expect(lowered.body.taint).toBe("untrusted_external");
  });

  test("is marked by a call that was denied in observe mode, and not by a blocked call (needs observe mode admitted)", async (context) => {
    const nowhere = { ...hops.read, target: "http:no/where" };
    const [blocked, observed] = [await clerkSession(api, scope), await clerkSession(api, scope)];
    await api.authorize(blocked.session, blocked.clerk.token, nowhere);
    const answer = await api.authorize(observed.session, observed.clerk.token, nowhere, { enforced: false });
    if (answer.status === 400) context.skip("needs observe mode admitted for every scope");
    expect(await markedIn(blocked.session)).toEqual([]);
    expect(await markedIn(observed.session)).toEqual([hops.clerk.target, hops.planner.target]);
  });

  test("that an observed deny left counts for observed decisions alone (needs observe mode admitted)", async (context) => {
    const { session, clerk } = await clerkSession(api, scope);
    const [first = ""] = (await api.renew(clerk.token, 1)).body.tokens;
    const observed = { enforced: false };
    const nowhere = { ...hops.read, target: "http:no/where" };
    const undeclared = await api.authorize(session, first, nowhere, observed);
    if (undeclared.status === 400) context.skip("needs observe mode admitted for every scope");

    const blockedLater = await api.authorize(session, first, hops.post, observed);
    expect(blockedLater.body).toMatchObject({ decision: "deny", deny_reason: "TAINT_BLOCKED" });
    const enforced = await api.authorize(session, first, hops.post);
    expect(enforced.body).toMatchObject({ decision: "allow", taint: "trusted_internal" });
  });

  test("that an observed deny left is in no token (needs observe mode admitted)", async (context) => {
    const { session, clerk } = await clerkSession(api, scope);
    const [first = "", second = "", third = ""] = (await api.renew(clerk.token, 3)).body.tokens;
    const observed = { enforced: false };
    const undeclared = await api.authorize(session, first, { ...hops.read, target: "http:no/where" }, observed);
    if (undeclared.status === 400) context.skip("needs observe mode admitted for every scope");

    const tainted = await api.authorize(session, first, hops.read, observed);
    expect(tainted.body).toMatchObject({ decision: "allow", taint: "untrusted_external" });
    const { access_token: narrowed } = (await api.exchange(first, hops.read, tainted.body.action_id)).body;
    const [sibling = ""] = (await api.renew(second, 1)).body.tokens;
    expect([narrowed, sibling].map((token) => decodeJwt(token).taint)).toEqual([
      "trusted_internal",
      "trusted_internal",
    ]);

    // An allow marks the same agents for every decision.
    await api.authorize(session, third, hops.browse);
    expect((await api.authorize(session, sibling, hops.post)).body.deny_reason).toBe("TAINT_BLOCKED");
    const { body } = await api.call("GET", `/v1/sessions/${session}`, { bearer: api.tokens.audit });
    const marks = body.taint_marks.map(
      ({ agent, enforced }: { agent: string; enforced: boolean }) => `${agent} ${enforced}`,
    );
    const { clerk: one, planner: other } = hops;
    expect(marks.sort()).toEqual([one, other].flatMap(({ target }) => [`${target} false`, `${target} true`]).sort());
  });

  test("that rises after an allow refuses the exchange of the privileged call, and nothing is spent", async () => {
    const { session, clerk } = await clerkSession(api, scope);
    const [browsing, writing] = (await api.renew(clerk.token, 2)).body.tokens;
    const { action_id } = (await api.authorize(session, writing, hops.post)).body;
    await api.authorize(session, browsing, hops.browse);
    const exchanged = await api.exchange(writing, hops.post, action_id);
    expect([exchanged.status, exchanged.body.error]).toEqual([403, "invalid_target"]);
    expect((await api.renew(writing, 1)).status).toBe(200);
  });

  test("of one session does not affect another", async () => {
    const [tainted, clean] = [await clerkSession(api, scope), await clerkSession(api, scope)];
    await api.authorize(tainted.session, tainted.clerk.token, hops.browse);
    expect((await api.authorize(clean.session, clean.clerk.token, hops.post)).body.decision).toBe("allow");
    expect(await markedIn(clean.session)).toEqual([]);
  });
});
