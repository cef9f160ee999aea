import type { AuditReads, Match } from "../ports/audit-reads.ts";
import type { Fragment, Pool } from "./database.ts";

/** Of each kind. */
const mostMatches = 10;

/**
 * Persons, tools and reasons, and the ends of identifiers, have no index: it would cost each insert on the hot path.
 * They are looked for in the newest rows, which bounds the time.
 */
export function searchReads({ rows, sql }: Pool): Pick<AuditReads, "findId" | "findName"> {
  const newest = (table: Fragment, order: Fragment, most: number) =>
    sql`(select * from ${table} order by ${order} desc limit ${most}) r`;
  const decisions = (most: number) => newest(sql`decision`, sql`seq`, most);
  const sessions = (most: number) => newest(sql`session`, sql`session_id`, most);
  const events = (most: number) => newest(sql`administrative_event`, sql`event_id`, most);
  const ofEvent = sql`r.event_id::text as ref, r.kind as "eventKind", r.ts as "atMs", r.reason`;
  const noEvent = sql`null::text as "eventKind", null::timestamptz as "atMs", null::text as reason`;

  /** A person's whole subject has an index. */
  const peopleOf = (text: string, most: number) =>
    sql`(select user_sub from ${sessions(most)} union all (select user_sub from session where user_sub = ${text} limit 1)) r`;

  const ids = (kind: Match["kind"], id: Fragment, from: Fragment, condition: Fragment) => sql`
    (select ${kind}::text as kind, true as "isExact", ${id}::text as ref, ${noEvent} from ${from} where ${condition}
    limit ${mostMatches})`;
  const names = (kind: Match["kind"], name: Fragment, from: Fragment, text: string) => sql`
    (select ${kind}::text as kind, ref = ${text} as "isExact", ref, ${noEvent}
    from (select distinct ${name} as ref from ${from} where strpos(lower(${name}), lower(${text})) > 0) found
    order by ref = ${text} desc, ref limit ${mostMatches})`;

  return {
    findId({ id, isWhole, newest: most }) {
      const is = (column: Fragment) =>
        isWhole ? sql`${column} = ${id}::uuid` : sql`right(${column}::text, ${id.length}::int) = ${id}`;
      const within = (table: Fragment, recent: Fragment) => (isWhole ? sql`${table} r` : recent);
      return rows<Match>`
        ${ids("action", sql`r.action_id`, within(sql`decision`, decisions(most)), is(sql`r.action_id`))}
        union all ${ids("session", sql`r.session_id`, within(sql`session`, sessions(most)), is(sql`r.session_id`))}
        union all (select 'event' as kind, true as "isExact", ${ofEvent}
          from ${within(sql`administrative_event`, events(most))} where ${is(sql`r.event_id`)} limit ${mostMatches})`;
    },
    findName: ({ text, newest: most }) => rows<Match>`
      ${names("agent", sql`r.name`, sql`agent r`, text)}
      union all ${names("scope", sql`r.scope`, sql`compiled_policy r`, text)}
      union all ${names("person", sql`r.user_sub`, peopleOf(text, most), text)}
      union all ${names("tool", sql`r.target`, sql`(select target from ${decisions(most)} where r.target_kind = 'tool') r`, text)}
      union all (select 'event' as kind, r.reason = ${text} as "isExact", ${ofEvent} from ${events(most)}
        where strpos(lower(r.reason), lower(${text})) > 0 order by r.event_id desc limit ${mostMatches})`,
  };
}
