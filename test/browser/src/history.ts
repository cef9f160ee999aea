import type { DenyReason } from "@svc/core";
import type { TestDatabase } from "@svc/test-support";
import postgres from "postgres";
import type { Story } from "./story.ts";

/** A kind of decision, and its share of all. */
interface Kind {
  readonly share: number;
  readonly session: number;
  readonly agent: string;
  readonly target: string;
  readonly dataClass: string;
  readonly reason?: DenyReason;
  readonly enforced?: boolean;
  readonly tainted?: boolean;
}

const entries = { session: 0, agent: "planner", target: "http:ledger/read_entry", dataClass: "finance.entries" };
const crm = { ...entries, target: "http:crm/read_contact", dataClass: "crm.contacts" };
const trip = { session: 2, agent: "planner", target: "http:travel/search", dataClass: "travel.offers" };
const web = { session: 1, agent: "researcher", target: "mcp:web/fetch", dataClass: "web", tainted: true };

/** One that was allowed, before the tool was blocked. */
export const booking: Kind = { ...trip, share: 1, target: "http:travel/book", dataClass: "travel.bookings" };

const kinds: readonly Kind[] = [
  { ...entries, share: 0.44 },
  { ...trip, share: 0.27 },
  { ...web, share: 0.09 },
  { ...crm, share: 0.07, reason: "TARGET_NOT_DECLARED", enforced: false },
  { ...entries, share: 0.03, dataClass: "hr.salaries", reason: "DATA_CLASS_NOT_DECLARED", enforced: false },
  { ...entries, share: 0.035, target: "http:ledger/delete_entry", reason: "TARGET_NOT_DECLARED" },
  { ...web, share: 0.025, agent: "auditor", target: "http:ledger/post_entry", reason: "TAINT_BLOCKED" },
  { ...trip, share: 0.025, target: "http:travel/book", dataClass: "travel.bookings", reason: "TARGET_BLOCKED" },
  { ...trip, share: 0.015, dataClass: "travel.bookings", reason: "SCOPE_NOT_CONSENTED", enforced: false },
];

interface History {
  readonly decisions: number;
  readonly spanMs: number;
  readonly of?: readonly Kind[];
}

/**
 * A history that no caller can make: decisions over a span that ends now, with busy and quiet hours, written into the
 * log in order, as the service does.
 * @param spanMs length of the span
 */
export async function writeHistory(
  { appUrl }: Pick<TestDatabase, "appUrl">,
  { sessions }: Story,
  { decisions, spanMs, of = kinds }: History,
): Promise<void> {
  const sql = postgres(appUrl, { max: 1, onnotice: () => {} });
  const alike = of.map((kind) => columnsOf(kind, sessions, Math.round(decisions * kind.share)));
  try {
    // An identifier holds its time, version and variant (RFC 9562 section 5.7), as in the service.
    await sql`
      insert into decision (action_id, record_version, session_id, stage, hop, chain, acting_agent, target, target_kind,
        data_class, decision, deny_reason, recoverable, enforced, privileged, taint, taint_source, policy_version,
        guarantee_level, parent_action_id, decided_at)
      select
        (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0')
          || overlay(overlay(substr(md5(random()::text), 1, 20) placing '7' from 1) placing '8' from 5))::uuid,
        2, session_id, 'authorize', 2, array[agent], agent, target, 'tool', data_class,
        case when reason is null then 'allow' else 'deny' end, reason, coalesce(reason = 'SCOPE_NOT_CONSENTED', false),
        enforced, false, taint, taint_source, policy_version, 'network', null, at
      from (
        select k.*, now() - make_interval(secs => ${spanMs / 1000}::float8 * least(1, greatest(0,
          i::float8 / count + 0.03 * sin(18.8 * i::float8 / count) + 0.006 * random()))) as at
        from jsonb_to_recordset(${sql.json(alike)}) as k (count int, session_id uuid, policy_version int, agent text,
          target text, data_class text, reason text, enforced boolean, taint text, taint_source text),
          generate_series(1, k.count) i
      ) moments order by at`;
  } finally {
    await sql.end();
  }
}

function columnsOf(kind: Kind, sessions: Story["sessions"], count: number) {
  const { session, agent, target, dataClass, reason = null, enforced = true, tainted = false } = kind;
  const { session_id: sessionId = "", policy_version: version = 1 } = sessions[session] ?? {};
  return {
    count,
    session_id: sessionId,
    policy_version: version,
    agent,
    target,
    data_class: dataClass,
    reason,
    enforced,
    taint: tainted ? "untrusted_external" : "trusted_internal",
    taint_source: tainted ? "mcp:web/fetch" : null,
  };
}
