import { besideOf, guarded, heldHandle } from "../handles.ts";
import { type Examples, endSession, enforcement, hops, inTurn, scope } from "./base.ts";

const { target: agent } = hops.planner;

export const enforcementRoutes: Examples = {
  "POST /v1/handles/redeem": async (api, database) => {
    const { handle, session } = await heldHandle(api, database, { scope, agent });
    const redeem = (resource = guarded) => enforcement(api, "POST", "/v1/handles/redeem", { handle, resource });
    return inTurn(
      () => redeem(),
      () => redeem(`${guarded}/other`),
      async () => {
        await endSession(api, session);
        return redeem();
      },
    );
  },
  "POST /v1/session/consents": async (api, database) => {
    const { session, token: root } = await api.consent(scope);
    const { token } = await api.hop(session, root, hops.planner);
    await besideOf(api, database, { session, agent, scope });
    return inTurn(
      () => enforcement(api, "POST", "/v1/session/consents", { token }),
      () => enforcement(api, "POST", "/v1/session/consents", { token: root }),
      () => enforcement(api, "POST", "/v1/session/consents", { token: "no.good.token" }),
    );
  },
};
