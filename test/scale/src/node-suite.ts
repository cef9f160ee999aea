import { type Api, whenDecided } from "@svc/test-conformance/api";
import { clerkSession, ledgerHops } from "@svc/test-conformance/ledger";
import { expect, test } from "vitest";
import { callsOfSession, type Nodes, scope } from "./nodes.ts";

const hops = ledgerHops(scope);

/** Guarantees over two nodes. */
export function nodeSuite(nodes: () => Nodes): void {
  const both = (): readonly Api[] => [nodes().one, nodes().other];
  const statusesOf = (call: (api: Api) => Promise<{ status: number }>, times: number): Promise<readonly number[]> =>
    Promise.all(
      Array.from({ length: times }, async (_, index) => (await call(both()[index % 2] ?? nodes().one)).status),
    );

  test("a session continues at either node", async () => {
    const { one, other } = nodes();
    const { session, token } = await one.consent(scope);
    const { body: decision } = await other.authorize(session, token, hops.planner);
    const { body: grant } = await one.exchange(token, hops.planner, decision.action_id);
    const clerk = await other.hop(session, grant.access_token, hops.clerk);
    const post = await one.hop(session, clerk.token, hops.post);
    expect((await other.mint(post.token, post.action, { amount: 1 })).status).toBe(200);
    expect((await one.mint(post.token, post.action, { amount: 1 })).status).toBe(409);
    for (const api of both()) expect((await api.chain(post.action)).body).toMatchObject({ complete: true });
  });

  test("of twenty exchanges of one token over both nodes exactly one is granted", async () => {
    const { session, token } = await nodes().one.consent(scope);
    const { body } = await nodes().other.authorize(session, token, hops.planner);
    const statuses = await statusesOf(
      (api) => whenDecided(() => api.exchange(token, hops.planner, body.action_id)),
      20,
    );
    expect(statuses.toSorted()).toEqual([200, ...Array<number>(19).fill(400)]);
  });

  test("of ten renewals of one token over both nodes exactly one is granted", async () => {
    const { clerk } = await clerkSession(nodes().one, scope);
    const statuses = await statusesOf((api) => whenDecided(() => api.renew(clerk.token, 1)), 10);
    expect(statuses.toSorted()).toEqual([200, ...Array<number>(9).fill(409)]);
  });

  test("a session that ended at one node is denied at the other", async () => {
    const { one, other } = nodes();
    const { session, clerk } = await clerkSession(other, scope);
    await one.call("POST", `/v1/sessions/${session}/revoke`, { bearer: one.tokens.admin, body: {} });
    expect((await other.authorize(session, clerk.token, hops.read)).body.deny_reason).toBe("SESSION_REVOKED");
  });

  test("a key rotated at one node signs at the other, and both accept its tokens", async () => {
    const { one, other } = nodes();
    const { body: rotated } = await one.call("POST", "/v1/keys/rotate", {
      bearer: one.tokens.admin,
      body: { now: true },
    });
    const { session, token } = await other.consent(scope);
    expect(JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString()).kid).toBe(rotated.kid);
    for (const api of both()) expect((await api.authorize(session, token, hops.planner)).body.decision).toBe("allow");
  });

  test("a session's rate limit holds over both nodes together", async () => {
    const { token } = await nodes().one.consent(scope);
    const ask = (api: Api) => api.call("GET", "/v1/session/targets", { bearer: token });
    const statuses = await statusesOf(ask, callsOfSession + 10);
    expect(statuses.toSorted()).toEqual([...Array<number>(callsOfSession).fill(200), ...Array<number>(10).fill(429)]);
  });
}
