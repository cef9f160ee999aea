import { insertSignIn } from "../inserted-sign-in.ts";
import { insertSink } from "../inserted-sink.ts";
import { clerkSession } from "../ledger.ts";
import { asOwner } from "../stack.ts";
import { admin, audit, type Examples, hops, inTurn, newName, scope, unknownId } from "./base.ts";

export const sessions: Examples = {
  "POST /v1/consent": async (api, database) => {
    const aged = newName();
    await api.attest(newName(), { [aged]: { hop_budget: 2 } });
    // A release ago: today's service compiles at today's schema version alone.
    await asOwner(
      database,
      (sql) => sql`
        insert into compiled_policy select scope, version + 1, 0, document, created_at from compiled_policy
        where scope = ${aged}`,
    );
    const [agent, closed] = [newName(), newName()];
    await api.attest(agent, { [closed]: { hop_budget: 2 } });
    await admin(api, "PUT", `/v1/blocks/agent/${agent}`, { reason: "an incident" });
    return inTurn(
      () => admin(api, "POST", "/v1/consent", { scope: closed, user_sub: "ada" }),
      () => admin(api, "POST", "/v1/consent", { scope, user_sub: "ada", ttl_seconds: 60 }),
      () => admin(api, "POST", "/v1/consent", { scope, user_sub: "ada", policy_version: 999 }),
      () => admin(api, "POST", "/v1/consent", { scope: newName(), user_sub: "ada" }),
      () => admin(api, "POST", "/v1/consent", { scope: aged, user_sub: "ada" }),
    );
  },
  "GET /v1/sessions": async (api) => {
    await clerkSession(api, scope);
    return inTurn(() => audit(api, "GET", `/v1/sessions?status=active&scope=${scope}&limit=1`));
  },
  "GET /v1/sessions/{session_id}": async (api) => {
    const { session, clerk: held } = await clerkSession(api, scope);
    await api.authorize(session, held.token, hops.browse);
    return inTurn(() => audit(api, "GET", `/v1/sessions/${session}`));
  },
  "POST /v1/sessions/{session_id}/revoke": async (api) => {
    const { session } = await api.consent(scope);
    return inTurn(
      () => admin(api, "POST", `/v1/sessions/${session}/revoke`, { reason: "over" }),
      () => admin(api, "POST", `/v1/sessions/${unknownId}/revoke`, {}),
    );
  },
  "GET /v1/sign-ins": async (api, database) => {
    await asOwner(database, (sql) => insertSignIn(sql));
    return inTurn(() => audit(api, "GET", "/v1/sign-ins?user_sub=ada&limit=1"));
  },
  "POST /v1/sign-ins/{sign_in_id}/end": async (api, database) => {
    const id = await asOwner(database, (sql) => insertSignIn(sql));
    return inTurn(
      () => admin(api, "POST", `/v1/sign-ins/${id}/end`, { reason: "over" }),
      () => admin(api, "POST", `/v1/sign-ins/${unknownId}/end`, {}),
    );
  },
  "POST /v1/sign-ins/end": async (api, database) => {
    await asOwner(database, (sql) => insertSignIn(sql, "ben"));
    return inTurn(() => admin(api, "POST", "/v1/sign-ins/end", { user_sub: "ben" }));
  },
  "GET /v1/sinks": async (api, database) => {
    await asOwner(database, (sql) => insertSink(sql));
    return inTurn(() => audit(api, "GET", "/v1/sinks"));
  },
  "POST /v1/sinks/{sink}/replay": async (api, database) => {
    await asOwner(database, (sql) => insertSink(sql));
    const body = { since: "2026-01-31T08:00:00Z" };
    return inTurn(
      () => admin(api, "POST", "/v1/sinks/webhook/replay", body),
      () => admin(api, "POST", "/v1/sinks/syslog/replay", body),
    );
  },
  "POST /v1/sessions/revoke": (api) =>
    inTurn(
      () => admin(api, "POST", "/v1/sessions/revoke", { user_sub: "nobody" }),
      () => admin(api, "POST", "/v1/sessions/revoke", {}),
    ),
};
