import type { Api } from "./api.ts";
import { asOwner, type One } from "./stack.ts";

/** A stack's sessions, by the admin and audit planes. */
export const sessionsOf = ({ api, database }: One) => ({
  read: (session: string) => api.call("GET", `/v1/sessions/${session}`, { bearer: api.tokens.audit }),
  list: (query: string) => api.call("GET", `/v1/sessions?${query}`, { bearer: api.tokens.audit }),
  revoke: (session: string, body?: object) =>
    api.call("POST", `/v1/sessions/${session}/revoke`, { bearer: api.tokens.admin, ...(body && { body }) }),
  revokeAll: (body: object) => api.call("POST", "/v1/sessions/revoke", { bearer: api.tokens.admin, body }),
  consentOf: async (user: string, scope = "books") => (await api.consent(scope, { user_sub: user })).session,
  /** The events of its end. */
  endsOf: (session: string) =>
    asOwner(
      database,
      (sql) => sql`
        select actor, reason, details from administrative_event
        where kind = 'session_revoked' and session_id = ${session}`,
    ),
  /** Ends the session's lifetime in the database: the shortest consent lasts longer than a test. */
  insertExpired: async (user: string): Promise<string> => {
    const [row] = await asOwner(
      database,
      (sql) => sql<{ session_id: string }[]>`
        with made as (
          insert into session
            (session_id, user_sub, scope, policy_version, hop_budget, consented_by, consented_at, expires_at)
          values
            (gen_random_uuid(), ${user}, 'books', 1, 4, 'test', now() - interval '2 hours', now() - interval '1 hour')
          returning session_id
        )
        insert into session_state (session_id) select session_id from made returning session_id`,
    );
    if (row === undefined) throw new Error("the session was inserted");
    return row.session_id;
  },
});

export const idsOf = (page: Pick<Awaited<ReturnType<Api["call"]>>, "body">): string[] =>
  page.body.data.map(({ session_id }: { session_id: string }) => session_id);
