import { denyReasons, page, scopeName, targetKinds } from "@svc/core";
import { z } from "zod";
import type { Deps } from "../deps.ts";
import type { App } from "../http/endpoint.ts";
import { mount } from "../http/mount.ts";
import { openPage, pageQuery, toPage } from "../http/page.ts";
import { spanQuery, withSpan } from "../http/query-values.ts";
import type { WouldBlock, WouldBlockPosition } from "../ports/decision-log.ts";

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

const query = withSpan(z.strictObject({ ...pageQuery, scope: scopeName.optional(), ...spanQuery }));

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
      query,
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
      const after = asked.after === undefined ? undefined : (JSON.parse(asked.after) as WouldBlockPosition);
      const groups = await deps.wouldBlocks.page({ scope, sinceMs, untilMs, after, limit: asked.limit + 1 });
      return c.json(toPage(deps.cursorKey, asked, groups, toWouldBlock, ({ position }) => JSON.stringify(position)));
    },
  );
}

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
