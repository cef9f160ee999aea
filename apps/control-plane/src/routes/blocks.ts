import { type BlockKind, blockPage, blockPut, blockRead, blockRef, pagedQuery } from "@svc/core";
import type { z } from "zod";
import { liftBlock } from "../commands/block/lift-block.ts";
import { setBlock } from "../commands/block/set-block.ts";
import type { App } from "../http/endpoint.ts";
import { invalidRequest, toIssues } from "../http/issues.ts";
import { mount } from "../http/mount.ts";
import { openPage, toPage } from "../http/page.ts";
import type { StandingBlock } from "../ports/blocks.ts";
import type { Deps } from "./deps.ts";

const tag = "Emergency blocks";
const blocks = "/v1/blocks";
const oneBlock = `${blocks}/{kind}/{ref}` as const;

export function blockRoutes(app: App, deps: Deps): void {
  mount(
    app,
    deps,
    {
      method: "get",
      path: blocks,
      access: "audit",
      tag,
      summary: "List the blocks in force by kind and ref.",
      query: pagedQuery,
      replies: { 200: { description: "One page.", schema: blockPage } },
      errors: ["database_unavailable"],
    },
    async ({ c, query, rawQuery }) => {
      const asked = openPage(deps.cursorKey, blocks, rawQuery, query);
      const rows = await deps.blocks.page({
        nowMs: deps.clock.nowMs(),
        after: asked.after === undefined ? undefined : openPosition(asked.after),
        limit: asked.limit + 1,
      });
      return c.json(toPage(deps.cursorKey, asked, rows, toRead, positionOf));
    },
  );

  mount(
    app,
    deps,
    {
      method: "put",
      path: oneBlock,
      access: "admin",
      tag,
      summary: "Deny a tool, an agent or a scope from the next decision on, whatever a session pinned.",
      body: blockPut,
      replies: { 200: { description: "The block as it stands.", schema: blockRead } },
      errors: ["database_unavailable"],
    },
    async ({ c, caller, params, body: { reason, until: untilMs = null } }) => {
      const set = await setBlock(deps, { ...readRef(params), reason, untilMs, actor: caller.label });
      if (set.kind === "until_is_past") {
        throw invalidRequest("The block would block nothing.", [{ path: "until", message: "must be in the future" }]);
      }
      deps.events.administered("block_set");
      return c.json(toRead(set.block));
    },
  );

  mount(
    app,
    deps,
    {
      method: "delete",
      path: oneBlock,
      access: "admin",
      tag,
      summary: "Lift a block; without one, nothing happens.",
      replies: { 204: { description: "No such block is in force." } },
      errors: ["database_unavailable"],
    },
    async ({ c, caller, params }) => {
      const wasLifted = await liftBlock(deps, { ...readRef(params), actor: caller.label });
      if (wasLifted) deps.events.administered("block_lifted");
      return c.body(null, 204);
    },
  );
}

/** @throws {ApiError} `invalid_request` for a kind that is none and a ref that its kind cannot have. */
function readRef(params: { readonly kind: string; readonly ref: string }): { kind: BlockKind; ref: string } {
  const read = blockRef.safeParse({ kind: params.kind, ref: params.ref });
  if (!read.success) throw invalidRequest("The path names nothing that can be blocked.", toIssues(read.error));
  return read.data;
}

/** No kind holds a space. */
const positionOf = ({ kind, ref }: StandingBlock): string => `${kind} ${ref}`;

function openPosition(position: string): { kind: string; ref: string } {
  const space = position.indexOf(" ");
  return { kind: position.slice(0, space), ref: position.slice(space + 1) };
}

const toRead = ({ kind, ref, reason, untilMs, createdAtMs }: StandingBlock): z.input<typeof blockRead> => ({
  kind,
  ref,
  reason,
  until: untilMs === null ? null : new Date(untilMs).toISOString(),
  created_at: new Date(createdAtMs).toISOString(),
});
