import { revocationPage, revocationsQuery } from "@svc/core";
import type { App } from "../../http/endpoint.ts";
import { openPage, toPage } from "../../http/page.ts";
import { routesOf } from "../../http/routes.ts";
import { iso, withTimes } from "../../http/times.ts";
import type { Revocation } from "../../ports/identities.ts";
import type { Deps } from "../deps.ts";

const path = "/v1/identity/revocations";

export function revocationsRoute(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Identity");
  route(`GET ${path}`, {
    access: "identity",
    summary: "List revoked agents in the order of their revocation; read again with `as_of` of the list as `since`.",
    query: revocationsQuery,
    reply: { description: "One page.", schema: revocationPage },
    errors: ["database_unavailable"],
    handle: async ({ query, rawQuery }) => {
      const asked = openPage(deps.cursorKey, path, rawQuery, query);
      const before = asked.after === undefined ? undefined : readPosition(asked.after);
      // Before the rows: what commits in between is in the page and after this time, and so is read again.
      const asOfMs = before?.asOfMs ?? (await deps.identities.revocationsWholeUntilMs());
      const filter = { sinceMs: query.since, after: before?.last, limit: asked.limit + 1 };
      const rows = await deps.identities.revocations(filter);
      const positionOf = (last: Revocation): string => writePosition({ asOfMs, last });
      return { ...toPage(deps.cursorKey, asked, rows, withTimes<Revocation>, positionOf), asOf: iso(asOfMs) };
    },
  });
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
