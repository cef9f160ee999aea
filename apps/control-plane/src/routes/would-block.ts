import { type wouldBlockGroup, wouldBlockPage, wouldBlockQuery } from "@svc/core";
import type { z } from "zod";
import type { App } from "../http/endpoint.ts";
import { mount } from "../http/mount.ts";
import { openPage, type PageRequest, toPage } from "../http/page.ts";
import type { WouldBlock, WouldBlockPosition, WouldBlockQuery } from "../ports/decision-log.ts";
import type { Deps } from "./deps.ts";

const path = "/v1/audit/would-block";

export function wouldBlockRoute(app: App, deps: Deps): void {
  mount(
    app,
    deps,
    {
      method: "get",
      path,
      access: "audit",
      tag: "Audit",
      summary: "List what observe mode let pass and enforcing would have blocked, like calls together.",
      query: wouldBlockQuery,
      replies: {
        200: {
          description: "One page, in the order of agent and target.",
          schema: wouldBlockPage,
        },
      },
      errors: ["database_unavailable"],
    },
    async ({ c, query: { scope, since: sinceMs, until: untilMs, ...paging }, rawQuery }) => {
      const asked = openPage(deps.cursorKey, path, rawQuery, paging);
      const groups = await readGroups(deps, asked, { scope, sinceMs, untilMs });
      return c.json(toPage(deps.cursorKey, asked, groups, toWouldBlock, groupPosition));
    },
  );
}

/** Read one beyond the limit, so that a surplus group says that there is a next page. */
export const readGroups = (
  { wouldBlocks }: Pick<Deps, "wouldBlocks">,
  { after, limit }: PageRequest,
  filter: Pick<WouldBlockQuery, "scope" | "sinceMs" | "untilMs">,
): Promise<readonly WouldBlock[]> =>
  wouldBlocks.page({
    ...filter,
    after: after === undefined ? undefined : (JSON.parse(after) as WouldBlockPosition),
    limit: limit + 1,
  });

export const groupPosition = ({ position }: WouldBlock): string => JSON.stringify(position);

const toWouldBlock = (group: WouldBlock): z.input<typeof wouldBlockGroup> => ({
  agent: group.actingAgent,
  target: group.target,
  target_kind: group.targetKind,
  data_class: group.dataClass,
  deny_reason: group.denyReason,
  count: group.count,
  first_ts: new Date(group.firstMs).toISOString(),
  last_ts: new Date(group.lastMs).toISOString(),
});
