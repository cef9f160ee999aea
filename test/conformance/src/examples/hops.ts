import type { Api } from "../api.ts";
import { clerkSession } from "../ledger.ts";
import { type Examples, endSession, hops, inTurn, scope, unknownId } from "./base.ts";

/** An allow, and the token to spend with it. */
async function grantedHop(api: Api) {
  const { session, clerk: held } = await clerkSession(api, scope);
  const { action_id: action } = (await api.authorize(session, held.token, hops.read)).body;
  return { session, exchange: (more = {}) => api.exchange(held.token, hops.read, action, more) };
}

export const hopRoutes: Examples = {
  "POST /v1/authorize": async (api) => {
    const { session, clerk: held } = await clerkSession(api, scope);
    return inTurn(
      () => api.authorize(session, held.token, hops.read),
      () => api.authorize(session, held.token, { ...hops.read, target: "http:documented/nowhere" }),
      () => api.authorize(unknownId, held.token, hops.read),
    );
  },
  "POST /v1/token/exchange": async (api) => {
    const [granted, ended] = [await grantedHop(api), await grantedHop(api)];
    await endSession(api, ended.session);
    return inTurn(
      () => granted.exchange({ audience: "elsewhere" }),
      () => granted.exchange({ grant_type: "password" }),
      () => granted.exchange(),
      () => granted.exchange(),
      () => ended.exchange(),
      () => api.exchangeForm({ grant_type: "password" }),
    );
  },
  "POST /v1/hops": async (api) => {
    const { session, clerk: held } = await clerkSession(api, scope);
    const line = { session_id: session, token: held.token, ...hops.read, body_settled: true };
    return inTurn(
      () => api.hopLines(`${JSON.stringify(line)}\n`),
      () => api.hopLines("{}\n".repeat(65)),
    );
  },
  "POST /v1/token/renew": async (api) => {
    const [held, ended] = [await api.consent(scope), await api.consent(scope)];
    await endSession(api, ended.session);
    return inTurn(
      () => api.renew(held.token, 2),
      () => api.renew(held.token, 2),
      () => api.renew(ended.token, 1),
      () => api.renew("not a token", 2),
    );
  },
  "POST /v1/token/transaction": async (api) => {
    const { session, clerk: held } = await clerkSession(api, scope);
    const [reads, posts] = (await api.renew(held.token, 2)).body.tokens;
    const [read, post] = [await api.hop(session, reads, hops.read), await api.hop(session, posts, hops.post)];
    const ended = await clerkSession(api, scope);
    const late = await api.hop(ended.session, ended.clerk.token, hops.post);
    await endSession(api, ended.session);
    return inTurn(
      () => api.mint(post.token, post.action, { amount: "\ud800" }),
      () => api.mint(post.token, post.action, { amount: 1 }),
      () => api.mint(post.token, post.action, { amount: 1 }),
      () => api.mint(post.token, read.action, {}),
      () => api.mint(read.token, read.action, {}),
      () => api.mint(late.token, late.action, {}),
    );
  },
  "GET /v1/session/targets": async (api) => {
    const { clerk: held } = await clerkSession(api, scope);
    const read = (headers = {}) =>
      api.call("GET", "/v1/session/targets?limit=1", { bearer: held.token, raw: { headers } });
    const first = await read();
    return inTurn(
      async () => first,
      () => read({ "if-none-match": first.headers.get("etag") ?? "" }),
    );
  },
};
