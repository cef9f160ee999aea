import { pagedQuery, sessionTargetPage } from "@svc/core";
import { type AllowedTarget, sessionTargets } from "../../commands/hop/session-targets.ts";
import { ApiError } from "../../http/api-error.ts";
import type { App } from "../../http/endpoint.ts";
import { mount } from "../../http/mount.ts";
import { openPage, toPage } from "../../http/page.ts";
import type { HopRouteDeps } from "./authorize.ts";

const route = "/v1/session/targets";

export function sessionTargetsRoute(app: App, deps: HopRouteDeps & { readonly cursorKey: Uint8Array }): void {
  mount(
    app,
    deps,
    {
      method: "get",
      path: route,
      access: "current_hop",
      tag: "Hops",
      summary: "What a decision would allow the caller now; it records, marks and spends nothing.",
      query: pagedQuery,
      replies: { 200: { description: "Allowed targets by name.", schema: sessionTargetPage } },
      errors: ["unauthorized", "database_unavailable"],
    },
    async ({ c, caller, query, rawQuery }) => {
      const page = openPage(deps.cursorKey, route, rawQuery, query);
      const targets = await sessionTargets(deps, caller);
      if (targets === undefined) throw new ApiError("unauthorized", "The bearer must be a current-hop token.");
      const after = page.after;
      const rest = after === undefined ? targets : targets.filter(({ target }) => target > after);
      return c.json(toPage(deps.cursorKey, page, rest.slice(0, page.limit + 1), toItem, ({ target }) => target));
    },
  );
}

const toItem = ({ target, targetKind, dataClasses, privileged }: AllowedTarget) => ({
  target,
  target_kind: targetKind,
  data_classes: dataClasses,
  privileged,
});
