import { clerkSession } from "../ledger.ts";
import { anAction, audit, clerk, type Examples, hops, inTurn, scope } from "./base.ts";

export const audits: Examples = {
  "GET /v1/audit/decisions": async (api) => {
    await anAction(api);
    return inTurn(
      () => audit(api, "GET", "/v1/audit/decisions"),
      () => audit(api, "GET", "/v1/audit/decisions?since=10000-01-01T00:00:00Z"),
    );
  },
  "GET /v1/decisions": async (api) => {
    await anAction(api);
    return inTurn(() => audit(api, "GET", "/v1/decisions?limit=1"));
  },
  "GET /v1/audit/actions/{action_id}/chain": async (api) => {
    const action = await anAction(api);
    return inTurn(() => audit(api, "GET", `/v1/audit/actions/${action}/chain`));
  },
  "GET /v1/audit/actions/{action_id}/explanation": async (api) => {
    const [action, { session, clerk: held }] = [await anAction(api), await clerkSession(api, scope)];
    const denied = await api.authorize(session, held.token, { ...hops.read, data_class: "web" });
    return inTurn(
      () => audit(api, "GET", `/v1/audit/actions/${action}/explanation`),
      () => audit(api, "GET", `/v1/audit/actions/${denied.body.action_id}/explanation`),
    );
  },
  "GET /v1/audit/verdicts": (api) =>
    inTurn(
      () => audit(api, "GET", `/v1/audit/verdicts?agent=${clerk}&target=${hops.read.target}`),
      () => audit(api, "GET", "/v1/audit/verdicts?agent=nobody-at-all&target=http:x"),
    ),
  "GET /v1/scopes": (api) => inTurn(() => audit(api, "GET", "/v1/scopes?limit=1")),
  "GET /v1/audit/events": (api) => inTurn(() => audit(api, "GET", "/v1/audit/events?limit=200")),
  "GET /v1/audit/would-block": async (api) => {
    const { session, clerk: held } = await clerkSession(api, scope);
    await api.authorize(session, held.token, { ...hops.read, data_class: "web" }, { enforced: false });
    return inTurn(() => audit(api, "GET", `/v1/audit/would-block?scope=${scope}`));
  },
};
