import { block, lastPage, type Row, session, sessionRow, signIn, signInRow, sink, sinkRow, t } from "./shared.ts";

const hopRow = {
  hop: 1,
  action_id: "a",
  acting_agent: "ada",
  target: "planner",
  target_kind: "agent",
  data_class: "finance",
  decision: "allow",
  deny_reason: null,
  enforced: true,
  ts: t,
};
const hop = {
  hop: 1,
  actionId: "a",
  actingAgent: "ada",
  target: "planner",
  targetKind: "agent",
  dataClass: "finance",
  decision: "allow",
  denyReason: null,
  enforced: true,
  ts: t,
};
export const row = {
  ...hopRow,
  session_id: "s",
  stage: "authorize",
  recoverable: false,
  privileged: true,
  taint: "trusted_internal",
  taint_source: null,
  policy_version: 1,
  guarantee_level: "full",
  parent_action_id: null,
  spent_at: t,
  params_hash: "h",
};
const check = { check: "identity", passed: true, facts: { required: false, statuses: { a_b: "none" } } };
const event = { kind: "block_set", ts: t, actor: "ada", agent: null, reason: null, details: { some_ref: "r" } };
const group = { agent: "clerk", target: "http:x", count: 2 };
const foreseen = {
  scope: "expenses",
  policy_version: 2,
  chain: ["planner"],
  target_kind: "tool",
  decision: "allow",
  deny_reason: null,
  privileged: false,
  remedy: null,
};
const foreseenCamel = {
  scope: "expenses",
  policyVersion: 2,
  chain: ["planner"],
  targetKind: "tool",
  decision: "allow",
  denyReason: null,
  privileged: false,
  remedy: null,
};
const mark = { agent: null, taint: "untrusted_external", source: "http:x", enforced: true, ts: t };

export const auditRows: readonly Row[] = [
  {
    name: "chain",
    call: (svc) => svc.audit.chain("a"),
    route: "GET /v1/audit/actions/a/chain",
    bearer: "audit-bearer",
    response: [
      200,
      {
        root: { user_sub: "ada", scope: "expenses", consented_at: t, session_id: "s" },
        hops: [hopRow],
        complete: false,
        break: { at_hop: 2, reason: "PARENT_NOT_FOUND" },
      },
    ],
    want: {
      root: { userSub: "ada", scope: "expenses", consentedAt: t, sessionId: "s" },
      hops: [hop],
      complete: false,
      break: { atHop: 2, reason: "PARENT_NOT_FOUND" },
    },
  },
  {
    name: "decisions, by every filter",
    call: (svc) =>
      svc.audit.decisions({
        limit: 5,
        cursor: "c",
        sessionId: "s",
        agent: "planner",
        outcome: "deny",
        denyReason: "TAINT_BLOCKED",
        enforced: false,
        targetKind: "tool",
        since: new Date(t),
        until: "2026-02-01T00:00:00+01:00",
        taint: "untrusted_external",
        privileged: true,
      }),
    route: "GET /v1/audit/decisions",
    query: {
      limit: "5",
      cursor: "c",
      session_id: "s",
      agent: "planner",
      outcome: "deny",
      deny_reason: "TAINT_BLOCKED",
      enforced: "false",
      target_kind: "tool",
      since: t,
      until: "2026-02-01T00:00:00+01:00",
      taint: "untrusted_external",
      privileged: "true",
    },
    bearer: "audit-bearer",
    response: [200, { data: [row], page: lastPage }],
    want: {
      data: [
        {
          ...hop,
          sessionId: "s",
          stage: "authorize",
          recoverable: false,
          privileged: true,
          taint: "trusted_internal",
          taintSource: null,
          policyVersion: 1,
          guaranteeLevel: "full",
          parentActionId: null,
          spentAt: t,
          paramsHash: "h",
        },
      ],
      page: { nextCursor: null, limit: 50 },
    },
  },
  {
    name: "explanation",
    call: (svc) => svc.audit.explanation("a"),
    route: "GET /v1/audit/actions/a/explanation",
    bearer: "audit-bearer",
    response: [200, { action_id: "a", decision: "allow", deny_reason: null, checks: [check], remedy: null }],
    want: { actionId: "a", decision: "allow", denyReason: null, checks: [check], remedy: null },
  },
  {
    name: "verdicts",
    call: (svc) => svc.audit.verdicts({ agent: "planner", target: "http:x", dataClass: "d" }),
    route: "GET /v1/audit/verdicts",
    query: { agent: "planner", target: "http:x", data_class: "d" },
    bearer: "audit-bearer",
    response: [200, { agent: "planner", target: "http:x", verdicts: [{ ...foreseen, data_class: "d" }] }],
    want: { agent: "planner", target: "http:x", verdicts: [{ ...foreseenCamel, dataClass: "d" }] },
  },
  {
    name: "scopes",
    call: (svc) => svc.audit.scopes({ agent: "planner", limit: 5 }),
    route: "GET /v1/scopes",
    query: { agent: "planner", limit: "5" },
    bearer: "audit-bearer",
    response: [200, { data: [{ scope: "expenses", version: 2, compiled_at: t }], page: lastPage }],
    want: { data: [{ scope: "expenses", version: 2, compiledAt: t }], page: { nextCursor: null, limit: 50 } },
  },
  {
    name: "events",
    call: (svc) => svc.audit.events({ kind: "block_set", actor: "alice", sessionId: "s", since: new Date(t) }),
    route: "GET /v1/audit/events",
    query: { kind: "block_set", actor: "alice", session_id: "s", since: t },
    bearer: "audit-bearer",
    response: [200, { data: [{ ...event, event_id: "e", session_id: null }], page: lastPage }],
    want: { data: [{ ...event, eventId: "e", sessionId: null }], page: { nextCursor: null, limit: 50 } },
  },
  {
    name: "wouldBlock",
    call: (svc) => svc.audit.wouldBlock({ scope: "expenses" }),
    route: "GET /v1/audit/would-block",
    query: { scope: "expenses" },
    bearer: "audit-bearer",
    response: [
      200,
      {
        data: [
          {
            ...group,
            target_kind: "tool",
            data_class: "d",
            deny_reason: "TARGET_NOT_DECLARED",
            first_ts: t,
            last_ts: t,
            now: { status: "admitted", scopes: [{ scope: "expenses", since_version: 3, deny_reason: null }] },
          },
        ],
        page: lastPage,
      },
    ],
    want: {
      data: [
        {
          ...group,
          ...{ targetKind: "tool", dataClass: "d", denyReason: "TARGET_NOT_DECLARED", firstTs: t, lastTs: t },
          now: { status: "admitted", scopes: [{ scope: "expenses", sinceVersion: 3, denyReason: null }] },
        },
      ],
      page: { nextCursor: null, limit: 50 },
    },
  },
  {
    name: "replay",
    call: (svc) =>
      svc.audit.replay({
        agent: "clerk",
        manifest: { scopes: {} },
        actingAgent: "ada",
        since: new Date(t),
        cursor: "c",
      }),
    route: "POST /v1/audit/replay",
    body: { agent: "clerk", manifest: { scopes: {} }, acting_agent: "ada", since: t, cursor: "c" },
    bearer: "audit-bearer",
    response: [
      200,
      {
        changes: [
          {
            ...{ ...group, scope: "expenses", target_kind: "tool", data_class: "d", becomes: "deny" },
            ...{ deny_reason: "TARGET_NOT_DECLARED", first_ts: t, last_ts: t, action_ids: ["a"] },
          },
        ],
        ...{ read: 9, judged: 3, oldest_ts: t, next_cursor: null },
      },
    ],
    want: {
      changes: [
        {
          ...{ ...group, scope: "expenses", targetKind: "tool", dataClass: "d", becomes: "deny" },
          ...{ denyReason: "TARGET_NOT_DECLARED", firstTs: t, lastTs: t, actionIds: ["a"] },
        },
      ],
      ...{ read: 9, judged: 3, oldestTs: t, nextCursor: null },
    },
  },
  {
    name: "sessions",
    call: (svc) => svc.audit.sessions({ userSub: "ada", status: "active" }),
    route: "GET /v1/sessions",
    query: { user_sub: "ada", status: "active" },
    bearer: "audit-bearer",
    response: [200, { data: [sessionRow], page: lastPage }],
    want: { data: [session], page: { nextCursor: null, limit: 50 } },
  },
  {
    name: "session",
    call: (svc) => svc.audit.session("s"),
    route: "GET /v1/sessions/s",
    bearer: "audit-bearer",
    response: [200, { ...sessionRow, taint_marks: [{ ...mark, action_id: "a" }] }],
    want: { ...session, taintMarks: [{ ...mark, actionId: "a" }] },
  },
  {
    name: "signIns",
    call: (svc) => svc.audit.signIns({ userSub: "ada" }),
    route: "GET /v1/sign-ins",
    query: { user_sub: "ada" },
    bearer: "audit-bearer",
    response: [200, { data: [signInRow], page: lastPage }],
    want: { data: [signIn], page: { nextCursor: null, limit: 50 } },
  },
  {
    name: "sinks",
    call: (svc) => svc.audit.sinks(),
    route: "GET /v1/sinks",
    bearer: "audit-bearer",
    response: [200, { data: [sinkRow], page: lastPage }],
    want: { data: [sink], page: { nextCursor: null, limit: 50 } },
  },
  {
    name: "blocks",
    call: (svc) => svc.audit.blocks({ limit: 3 }),
    route: "GET /v1/blocks",
    query: { limit: "3" },
    bearer: "audit-bearer",
    response: [200, { data: [{ ...block, created_at: t }], page: lastPage }],
    want: { data: [{ ...block, createdAt: t }], page: { nextCursor: null, limit: 50 } },
  },
];
