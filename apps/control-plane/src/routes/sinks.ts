import { pagedQuery, type SinkName, sinkNames, sinkPage, sinkRead, sinkReplay } from "@svc/core";
import { ApiError } from "../http/api-error.ts";
import { type App, routesOf } from "../http/routes.ts";
import { withTimes } from "../http/times.ts";
import type { SinkStatus } from "../ports/sinks.ts";
import type { Deps } from "./deps.ts";

export function sinkRoutes(app: App, deps: Deps): void {
  const { route, list } = routesOf(app, deps, "Audit");
  list("GET /v1/sinks", {
    access: "audit",
    summary: "List the sinks of the record by name: how far each is, and why one fails.",
    query: pagedQuery,
    page: sinkPage,
    rows: async ({ after = "", limit }) =>
      (await deps.sinks.statuses()).filter(({ sink }) => sink > after).slice(0, limit),
    item: (status: SinkStatus) => toRead(status, deps.clock.nowMs()),
    position: ({ sink }) => sink,
  });

  route("POST /v1/sinks/{sink}/replay", {
    access: "admin",
    summary: "Deliver the record again from a time on; a sink that is not that far stays where it is.",
    body: sinkReplay,
    reply: { description: "The sink at its new position.", schema: sinkRead },
    errors: ["sink_not_found", "database_unavailable"],
    handle: async ({ params, body: { since } }) => {
      const sink = sinkNames.find((name) => name === params.sink);
      const status = sink && (await deps.sinks.replay(sink satisfies SinkName, since));
      if (status === undefined) throw new ApiError("sink_not_found", "There is no such sink.");
      return toRead(status, deps.clock.nowMs());
    },
  });
}

function toRead({ entries: _entries, nextAtMs, ...status }: SinkStatus, nowMs: number) {
  const lagMs = nextAtMs === null ? 0 : Math.max(0, nowMs - nextAtMs);
  return { ...withTimes(status), lagSeconds: Math.floor(lagMs / 1_000) };
}
