import { type BlockKind, blockPage, blockPut, blockRead, blockRef, pagedQuery, type StandingBlock } from "@svc/core";
import { liftBlock, setBlock } from "../commands/blocks.ts";
import { invalidRequest, requireKind, toIssues } from "../http/api-error.ts";
import { type App, routesOf } from "../http/routes.ts";
import { withTimes } from "../http/times.ts";
import type { Deps } from "./deps.ts";

export function blockRoutes(app: App, deps: Deps): void {
  const { route, list } = routesOf(app, deps, "Emergency blocks");
  list("GET /v1/blocks", {
    access: "audit",
    summary: "List the blocks in force by kind and ref.",
    query: pagedQuery,
    page: blockPage,
    rows: ({ after, limit }) =>
      deps.blocks.page({
        nowMs: deps.clock.nowMs(),
        after: after === undefined ? undefined : openPosition(after),
        limit,
      }),
    item: (block: StandingBlock) => withTimes(block),
    // No kind holds a space.
    position: ({ kind, ref }) => `${kind} ${ref}`,
  });

  route("PUT /v1/blocks/{kind}/{ref}", {
    access: "admin",
    summary: "Deny a tool, an agent or a scope from the next decision on, whatever a session pinned.",
    body: blockPut,
    reply: { description: "The block in force.", schema: blockRead },
    errors: ["database_unavailable"],
    handle: async ({ caller, params, body: { reason, until: untilMs = null } }) => {
      const set = await setBlock(deps, { ...readRef(params), reason, untilMs }, { by: caller.label });
      const { block } = requireKind(set, "set", {
        until_is_past: () =>
          invalidRequest("The block would block nothing.", [{ path: "until", message: "must be in the future" }]),
      });
      deps.events.administered("block_set");
      return withTimes(block);
    },
  });

  route("DELETE /v1/blocks/{kind}/{ref}", {
    access: "admin",
    summary: "Lift a block; without one, nothing happens.",
    reply: { status: 204, description: "No such block is in force." },
    errors: ["database_unavailable"],
    handle: async ({ caller, params }) => {
      if (await liftBlock(deps, readRef(params), { by: caller.label })) deps.events.administered("block_lifted");
    },
  });
}

/** @throws {ApiError} `invalid_request` for an unknown kind and a ref that its kind cannot have. */
function readRef(params: { readonly kind: string; readonly ref: string }): { kind: BlockKind; ref: string } {
  const read = blockRef.safeParse(params);
  if (!read.success) throw invalidRequest("The path names nothing that can be blocked.", toIssues(read.error));
  return read.data;
}

function openPosition(position: string): { kind: string; ref: string } {
  const space = position.indexOf(" ");
  return { kind: position.slice(0, space), ref: position.slice(space + 1) };
}
