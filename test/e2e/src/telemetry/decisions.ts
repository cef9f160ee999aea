import { createHmac } from "node:crypto";
import type { Api } from "@svc/test-conformance/api";
import type { ReceivedSpan } from "@svc/test-conformance/span-receiver";

interface Row {
  readonly action_id: string;
  readonly acting_agent: string;
  readonly taint_source: string | null;
}

/** Every recorded decision, by its id. */
export async function decisionsById(api: Api): Promise<ReadonlyMap<string, Row>> {
  const rows: Row[] = [];
  let cursor: string | null = null;
  do {
    const { body } = await api.decisions(`limit=200${cursor === null ? "" : `&cursor=${cursor}`}`);
    rows.push(...body.data);
    cursor = body.page.next_cursor;
  } while (cursor !== null);
  return new Map(rows.map((row) => [row.action_id, row]));
}

/** As in docs/reference/telemetry.md#pseudonyms, computed without the service's code. */
const pseudonymOf = (kind: string, value: string): string =>
  createHmac("sha256", "telemetry-key-of-the-tests")
    .update(`${kind.length}:${kind}:${value}`)
    .digest("hex")
    .slice(0, 32);

/** Spans whose agent or taint source differs from their decision's record. */
export function misnamed(spans: readonly ReceivedSpan[], rows: ReadonlyMap<string, Row>, isDisclosed: boolean) {
  const shown = (kind: string, name: string | null | undefined) =>
    name == null ? undefined : isDisclosed ? name : pseudonymOf(kind, name);
  return spans.filter(({ attributes }) => {
    const said = (kind: string) => attributes[`authz.${kind}${isDisclosed ? "" : "_ref"}`];
    const row = rows.get(String(attributes["authz.action_id"]));
    return (
      said("agent") !== shown("agent", row?.acting_agent) ||
      said("taint_source") !== shown("taint_source", row?.taint_source)
    );
  });
}

/** The chain's form in a span: its JSON array, the person first. */
export const chainShown = (chain: readonly string[], isDisclosed: boolean): string =>
  isDisclosed ? JSON.stringify(chain) : pseudonymOf("act_chain", JSON.stringify(chain));
