import type { Answer, Api } from "@svc/test-conformance/api";
import { clerkSession } from "@svc/test-conformance/ledger";

/**
 * All requests of the hot path: delegations, a plain and a privileged call, a call that marks its chain, a deny, a
 * renewal, a replay, the list of targets, and the end of the session.
 * @param other a further process, which has an allow that this one lacks
 */
export async function everyHopStep(api: Api, scope: string, other: Api = api): Promise<void> {
  const { session, clerk, hops } = await clerkSession(api, scope);
  const [first, second, third] = (await ok(api.renew(clerk.token, 3))).body.tokens;
  const { body: decision } = await ok(other.authorize(session, first, hops.post));
  const { body: grant } = await ok(api.exchange(first, hops.post, decision.action_id));
  const post = { token: grant.access_token, action: decision.action_id };
  await ok(api.mint(post.token, post.action, { amount: 1 }));
  await api.hop(session, second, hops.browse);
  await api.exchange(second, hops.browse, post.action);
  await ok(api.authorize(session, third, { ...hops.read, target: `http:${scope}/nothing` }));
  await ok(api.call("GET", "/v1/session/targets", { bearer: third }));
  await ok(api.call("POST", `/v1/sessions/${session}/revoke`, { bearer: api.tokens.admin, body: {} }));
  await ok(api.authorize(session, third, hops.read));
}

async function ok(asked: Promise<Answer>): Promise<Answer> {
  const answer = await asked;
  if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`);
  return answer;
}
