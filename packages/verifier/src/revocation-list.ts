import type { revocationPage } from "@svc/core";
import { z } from "zod/mini";
import { RefreshFault } from "./get-json.ts";

const timestamp = z.iso.datetime({ offset: true });
// The compiler compares it with the route's own schema, which would bring the whole schema library into bundles.
const listPage = z.object({
  data: z.array(z.object({ agent_id: z.string(), agent: z.string(), as_of: timestamp })),
  page: z.object({ next_cursor: z.nullable(z.string()), limit: z.int() }),
  as_of: timestamp,
}) satisfies z.ZodMiniType<z.output<typeof revocationPage>>;

/** More pages than any list has: a server could return an endless one. */
const maxPages = 1_000;

/** The revoked agents: a list that only grows. @param get reads the JSON at a path below `/v1/identity/` */
export function revocationList(get: (path: string) => Promise<unknown>) {
  const revoked = new Set<string>();
  let asOf: string | undefined;

  const readPage = async (query: URLSearchParams) => {
    const read = listPage.safeParse(await get(`revocations?${query}`));
    if (!read.success) throw new RefreshFault("malformed revocation list");
    return read.data;
  };

  return {
    has: (agent: string) => revoked.has(agent),
    add: (agent: string): void => void revoked.add(agent),
    /**
     * Reads what was revoked since the last refresh, or all of it.
     * @throws {RefreshFault} where the list is malformed, or older than the one before (a control plane rolled back)
     */
    async refresh(whole: boolean): Promise<void> {
      const since = whole ? undefined : asOf;
      let cursor: string | null = null;
      let firstAsOf: string | undefined;
      for (let pages = 0; pages < maxPages; pages += 1) {
        const query = new URLSearchParams({ limit: "200", ...(since && { since }), ...(cursor && { cursor }) });
        const read = await readPage(query);
        // A revocation during the reading of later pages may be missing: the list is as old as its first page.
        firstAsOf ??= read.as_of;
        if (asOf !== undefined && Date.parse(read.as_of) < Date.parse(asOf)) throw new RefreshFault("rolled back");
        for (const { agent } of read.data) revoked.add(agent);
        if (cursor !== null && read.page.next_cursor === cursor) throw new RefreshFault("endless revocation list");
        cursor = read.page.next_cursor;
        if (cursor === null) {
          asOf = firstAsOf;
          return;
        }
      }
      throw new RefreshFault("endless revocation list");
    },
  };
}
