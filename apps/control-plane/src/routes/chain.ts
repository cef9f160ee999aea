import { chainRead } from "@svc/core";
import { type ReadBack, readChain } from "../commands/record/read-chain.ts";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { route } from "../http/route.ts";
import { withTimes } from "../http/times.ts";
import { toChainHop } from "./decision-row.ts";
import type { Deps } from "./deps.ts";

export function chainRoute(app: App, deps: Deps): void {
  route(app, deps, "GET /v1/audit/actions/{action_id}/chain", {
    access: "audit",
    tag: "Audit",
    summary: "Read an action's delegation chain back to the consenting human.",
    reply: { description: "The chain, or what was reached of it.", schema: chainRead },
    errors: ["action_not_found", "database_unavailable"],
    handle: async ({ params: { actionId } }) => {
      const startedMs = deps.clock.nowMs();
      const read = await readChain(deps, actionId);
      const result = read === undefined ? "not_found" : read.chain.break === null ? "complete" : "broken";
      deps.events.chainRead(result, Math.max(0, deps.clock.nowMs() - startedMs) / 1000);
      if (read === undefined) throw new ApiError("action_not_found", "There is no such action.");
      return toChainRead(read);
    },
  });
}

const toChainRead = ({ chain, session }: ReadBack) => ({
  root: withTimes(session),
  hops: chain.hops.map(toChainHop),
  complete: chain.break === null,
  break: chain.break,
});
