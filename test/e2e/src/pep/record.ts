import type { Stand } from "@svc/test-conformance/stand";
import type { ReceivedRequest } from "@svc/test-support";
import { decodeUnverifiedHopToken } from "@svc/tokens";
import { expect } from "vitest";

export interface DecisionRow {
  readonly action_id: string;
  readonly session_id: string;
  readonly target: string;
  readonly decision: "allow" | "deny";
  readonly enforced: boolean;
  readonly spent_at: string | null;
}

/** Every decision of one session. */
export async function decisionsOf({ api }: Pick<Stand, "api">, session: string): Promise<DecisionRow[]> {
  const rows: DecisionRow[] = [];
  let cursor: string | null = null;
  do {
    const { body } = await api.decisions(
      `session_id=${session}&limit=200${cursor === null ? "" : `&cursor=${cursor}`}`,
    );
    rows.push(...body.data);
    cursor = body.page.next_cursor;
  } while (cursor !== null);
  return rows;
}

/** An upstream's request, with the members that join it to the record. */
export interface Arrival {
  readonly authorization: string | undefined;
}

/** The calls of one session in an upstream's log, or of all. */
export const arrivalsOf = (requests: readonly ReceivedRequest[], session?: string): Arrival[] =>
  requests
    .map(({ rawHeaders }) => new Map(pairsOf(rawHeaders)))
    .filter((sent) => session === undefined || sent.get("x-svc-session") === session)
    .map((sent) => ({ authorization: sent.get("authorization") }));

const pairsOf = (raw: readonly string[]): [string, string][] =>
  raw.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), raw[at + 1] ?? ""] as [string, string]] : []));

/** Compares the upstream's log with the record: each request has its own spent allow, and no token arrived twice. */
export async function expectEachRecorded(stand: Pick<Stand, "api">, session: string, arrivals: readonly Arrival[]) {
  const tokens = arrivals.map(({ authorization = "" }) =>
    decodeUnverifiedHopToken(authorization.replace("Bearer ", "")),
  );
  const actions = tokens.map((token) => token?.actionId);
  const spent = (await decisionsOf(stand, session))
    .filter(({ decision, spent_at }) => decision === "allow" && spent_at !== null)
    .map(({ action_id }) => action_id);
  expect(new Set(tokens.map((token) => token?.jti)).size).toBe(arrivals.length);
  expect(new Set(actions).size).toBe(arrivals.length);
  expect(actions.filter((action) => !spent.includes(String(action)))).toEqual([]);
}
