import { chainRead } from "@svc/core";
import type { z } from "zod";
import { type ReadBack, readChain } from "../commands/record/read-chain.ts";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { mount } from "../http/mount.ts";
import { toChainHop } from "./decision-row.ts";
import type { Deps } from "./deps.ts";

export function chainRoute(app: App, deps: Deps): void {
  mount(
    app,
    deps,
    {
      method: "get",
      path: "/v1/audit/actions/{action_id}/chain",
      access: "audit",
      tag: "Audit",
      summary: "Read an action's delegation chain back to the consenting human.",
      replies: { 200: { description: "The chain, or what was reached of it.", schema: chainRead } },
      errors: ["action_not_found", "database_unavailable"],
    },
    async ({ c, params: { action_id: actionId } }) => {
      const startedMs = deps.clock.nowMs();
      const read = await readChain(deps, actionId);
      const result = read === undefined ? "not_found" : read.chain.break === null ? "complete" : "broken";
      deps.events.chainRead(result, Math.max(0, deps.clock.nowMs() - startedMs) / 1000);
      if (read === undefined) throw new ApiError("action_not_found", "There is no such action.");
      return c.json(toChainRead(read));
    },
  );
}

const toChainRead = ({ chain, session }: ReadBack): z.input<typeof chainRead> => ({
  root: {
    user_sub: session.userSub,
    scope: session.scope,
    consented_at: new Date(session.consentedAtMs).toISOString(),
    session_id: session.sessionId,
  },
  hops: chain.hops.map(toChainHop),
  complete: chain.break === null,
  break: chain.break === null ? null : { at_hop: chain.break.atHop, reason: chain.break.reason },
});
