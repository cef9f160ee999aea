import { denyReasons, page, scopeName, targetKinds } from "@svc/core";
import { z } from "zod";
import type { App } from "../http/endpoint.ts";
import { mount } from "../http/mount.ts";
import { openPage, type PageRequest, pageQuery, toPage } from "../http/page.ts";
import { spanQuery, withSpan } from "../http/query-values.ts";
import type { WouldBlock, WouldBlockPosition, WouldBlockQuery } from "../ports/decision-log.ts";
import type { Deps } from "./deps.ts";

const path = "/v1/audit/would-block";

/** What to declare, or to forbid, before enforcing (contract: Audit, would-block). */
const wouldBlock = z
  .object({
    agent: z.string().meta({ description: "The acting agent; at hop 1 the human." }),
    target: z.string(),
    target_kind: z.enum(targetKinds),
    data_class: z.string(),
    deny_reason: z.enum(denyReasons).nullable(),
    count: z.int(),
    first_ts: z.iso.datetime(),
    last_ts: z.iso.datetime(),
  })
  .meta({ id: "WouldBlock" });

/** The list's query, and the console's. */
export const wouldBlockQuery = withSpan(z.strictObject({ ...pageQuery, scope: scopeName.optional(), ...spanQuery }));

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
          schema: page(wouldBlock).meta({ id: "WouldBlockPage" }),
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

const toWouldBlock = (group: WouldBlock): z.input<typeof wouldBlock> => ({
  agent: group.actingAgent,
  target: group.target,
  target_kind: group.targetKind,
  data_class: group.dataClass,
  deny_reason: group.denyReason,
  count: group.count,
  first_ts: new Date(group.firstMs).toISOString(),
  last_ts: new Date(group.lastMs).toISOString(),
});
