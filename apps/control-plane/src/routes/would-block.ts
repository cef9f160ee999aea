import { wouldBlockPage, wouldBlockQuery } from "@svc/core";
import type { App } from "../http/endpoint.ts";
import { type ListRequest, list } from "../http/list.ts";
import { iso } from "../http/times.ts";
import type { WouldBlock, WouldBlockPosition } from "../ports/decision-log.ts";
import type { Deps } from "./deps.ts";

export function wouldBlockRoute(app: App, deps: Deps): void {
  list(app, deps, "GET /v1/audit/would-block", {
    access: "audit",
    tag: "Audit",
    summary: "List what observe mode let pass and enforcing would have blocked, like calls together.",
    query: wouldBlockQuery,
    page: wouldBlockPage,
    description: "One page, in the order of agent and target.",
    errors: ["database_unavailable"],
    rows: (request) => readWouldBlocks(deps, request),
    item: ({ actingAgent, firstMs, lastMs, ...group }) => ({
      ...group,
      agent: actingAgent,
      firstTs: iso(firstMs),
      lastTs: iso(lastMs),
    }),
    position: wouldBlockPosition,
  });
}

export const wouldBlockPosition = ({ position }: WouldBlock): string => JSON.stringify(position);

export const readWouldBlocks = (
  { wouldBlocks }: Pick<Deps, "wouldBlocks">,
  { query: { scope, since: sinceMs, until: untilMs }, after, limit }: ListRequest<typeof wouldBlockQuery>,
): Promise<readonly WouldBlock[]> =>
  wouldBlocks.page({
    ...{ scope, sinceMs, untilMs, limit },
    after: after === undefined ? undefined : (JSON.parse(after) as WouldBlockPosition),
  });
