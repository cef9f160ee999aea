import type { TestDatabase } from "@svc/test-support";
import { clerkSession } from "../ledger.ts";
import { asOwner } from "../stack.ts";
import { anAction, audit, clerk, type Examples, hops, inTurn, scope } from "./base.ts";
import { almostTooLarge } from "./registration.ts";

/** A long record, of which each row is like the one of an action. */
const moreThanAPage = (database: TestDatabase, action: string): Promise<void> =>
  asOwner(database, async (sql) => {
    await sql`
      insert into decision (action_id, record_version, session_id, stage, hop, chain, acting_agent, target, target_kind,
        data_class, decision, recoverable, enforced, privileged, taint, policy_version, parent_action_id, decided_at)
      select overlay(action_id::text placing lpad(to_hex(n), 12, '0') from 25)::uuid, record_version, session_id, stage,
        hop, chain, acting_agent, target, target_kind, data_class, decision, recoverable, enforced, privileged, taint,
        policy_version, parent_action_id, decided_at
      from decision, generate_series(1, 5000) n where action_id = ${action}`;
  });

export const audits: Examples = {
  "GET /v1/audit/decisions": async (api) => {
    await anAction(api);
    return inTurn(
      () => audit(api, "GET", "/v1/audit/decisions"),
      () => audit(api, "GET", "/v1/audit/decisions?since=10000-01-01T00:00:00Z"),
    );
  },
  "GET /v1/decisions": async (api) => {
    await anAction(api);
    return inTurn(() => audit(api, "GET", "/v1/decisions?limit=1"));
  },
  "GET /v1/audit/actions/{action_id}/chain": async (api) => {
    const action = await anAction(api);
    return inTurn(() => audit(api, "GET", `/v1/audit/actions/${action}/chain`));
  },
  "GET /v1/audit/actions/{action_id}/explanation": async (api) => {
    const [action, { session, clerk: held }] = [await anAction(api), await clerkSession(api, scope)];
    const denied = await api.authorize(session, held.token, { ...hops.read, data_class: "web" });
    return inTurn(
      () => audit(api, "GET", `/v1/audit/actions/${action}/explanation`),
      () => audit(api, "GET", `/v1/audit/actions/${denied.body.action_id}/explanation`),
    );
  },
  "GET /v1/audit/verdicts": (api) =>
    inTurn(
      () => audit(api, "GET", `/v1/audit/verdicts?agent=${clerk}&target=${hops.read.target}`),
      () => audit(api, "GET", "/v1/audit/verdicts?agent=nobody-at-all&target=http:x"),
    ),
  "GET /v1/scopes": (api) => inTurn(() => audit(api, "GET", "/v1/scopes?limit=1")),
  "GET /v1/audit/events": (api) => inTurn(() => audit(api, "GET", "/v1/audit/events?limit=200")),
  "GET /v1/audit/would-block": async (api) => {
    const { session, clerk: held } = await clerkSession(api, scope);
    await api.authorize(session, held.token, { ...hops.read, data_class: "web" }, { enforced: false });
    return inTurn(() => audit(api, "GET", `/v1/audit/would-block?scope=${scope}`));
  },
  "POST /v1/audit/replay": async (api, database) => {
    const candidate = (hop_budget: number) => ({
      agent: clerk,
      manifest: { scopes: { [scope]: { hop_budget, tools: [] } } },
    });
    const replay = (body: object) => audit(api, "POST", "/v1/audit/replay", body);
    await moreThanAPage(database, await anAction(api));
    const { last, manifest } = await almostTooLarge(api);
    const first = await replay(candidate(3));
    const others = await inTurn(
      () => replay({ ...candidate(2), cursor: first.body.next_cursor }),
      () => replay({ ...candidate(3), scope: "elsewhere" }),
      () => replay({ agent: last, manifest }),
    );
    return [first, ...others];
  },
};
