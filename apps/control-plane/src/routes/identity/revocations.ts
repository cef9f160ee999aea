import { revocationPage, revocationsQuery } from "@svc/core";
import type { App } from "../../http/endpoint.ts";
import { mount } from "../../http/mount.ts";
import { openPage, toPage } from "../../http/page.ts";
import type { Revocation } from "../../ports/identities.ts";
import type { Deps } from "../deps.ts";

const route = "/v1/identity/revocations";

export function revocationsRoute(app: App, deps: Deps): void {
  mount(
    app,
    deps,
    {
      method: "get",
      path: route,
      access: "identity",
      tag: "Identity",
      summary: "List revoked agents in the order of their revocation; ask again from `as_of` of the list on.",
      query: revocationsQuery,
      replies: { 200: { description: "One page.", schema: revocationPage } },
      errors: ["database_unavailable"],
    },
    async ({ c, query, rawQuery }) => {
      const asked = openPage(deps.cursorKey, route, rawQuery, query);
      const before = asked.after === undefined ? undefined : readPosition(asked.after);
      // Before the rows: what commits in between is in the page and after this time, and so is read again.
      const asOfMs = before?.asOfMs ?? (await deps.identities.revocationsWholeUntilMs());
      const rows = await deps.identities.revocations({
        sinceMs: query.since,
        after: before?.last,
        limit: asked.limit + 1,
      });
      const positionOf = (row: Revocation): string => writePosition({ asOfMs, last: row });
      const listed = toPage(deps.cursorKey, asked, rows, toItem, positionOf);
      return c.json({ ...listed, as_of: new Date(asOfMs).toISOString() });
    },
  );
}

/**
 * `as_of` is the first page's on every page: on a later one it would promise what earlier pages, read before, cannot
 * hold.
 */
interface Position {
  readonly asOfMs: number;
  readonly last: Pick<Revocation, "asOfMs" | "agentId">;
}

const writePosition = ({ asOfMs, last }: Position): string => [asOfMs, last.asOfMs, last.agentId].join(" ");

function readPosition(text: string): Position {
  const [asOfMs, lastAsOfMs, agentId = ""] = text.split(" ");
  return { asOfMs: Number(asOfMs), last: { asOfMs: Number(lastAsOfMs), agentId } };
}

const toItem = ({ agentId, agent, asOfMs }: Revocation) => ({
  agent_id: agentId,
  agent,
  as_of: new Date(asOfMs).toISOString(),
});
