import { z } from "zod";
import { chainBreakReasons } from "../chain.ts";
import { checkFacts } from "../check-facts.ts";
import { type CheckName, denyReasons } from "../deny-reason.ts";
import type { ExplainedCheck } from "../explain.ts";
import {
  administrativeEventKinds,
  decisionOrders,
  decisionStages,
  guaranteeLevels,
  outcomes,
  sessionStatuses,
  taints,
  targetKinds,
  wouldBlockStatuses,
} from "../kinds.ts";
import { agentManifest } from "../manifest.ts";
import { agentName, scopeName, toolRef, userSub } from "../names.ts";
import { sessionFilters } from "./admin.ts";
import { flagQuery, page, pageQuery, span, timestamp, withSpan } from "./parts.ts";

/** Bodies and queries of the audit plane. */

/** A decision as the chain shows it (docs/reference/record.md#chain-reads). */
export const chainHop = z
  .object({
    hop: z.int(),
    action_id: z.string(),
    acting_agent: z.string(),
    target: z.string(),
    target_kind: z.enum(targetKinds),
    data_class: z.string(),
    decision: z.enum(outcomes),
    deny_reason: z.enum(denyReasons).nullable(),
    enforced: z.boolean(),
    ts: timestamp,
  })
  .meta({ id: "ChainHop" });

export const chainRead = z
  .object({
    root: z.object({ user_sub: z.string(), scope: z.string(), consented_at: timestamp, session_id: z.string() }),
    hops: z.array(chainHop),
    complete: z.boolean(),
    break: z.object({ at_hop: z.int(), reason: z.enum(chainBreakReasons) }).nullable(),
  })
  .meta({ id: "ChainRead" });

/** A decision as the history shows it (docs/reference/record.md#decision-rows). */
export const decisionRow = z
  .object({
    ...chainHop.shape,
    session_id: z.string(),
    stage: z.enum(decisionStages),
    recoverable: z.boolean(),
    privileged: z.boolean(),
    taint: z.enum(taints),
    taint_source: z.string().nullable(),
    policy_version: z.int(),
    guarantee_level: z.enum(guaranteeLevels).nullable(),
    parent_action_id: z.string().nullable(),
    spent_at: timestamp.nullable(),
    params_hash: z.string().nullable(),
  })
  .meta({ id: "Decision" });
export const decisionPage = page(decisionRow).meta({ id: "AuditDecisionPage" });

/** Compared exactly, so any plain text is a legal filter. */
const exact = userSub;

const formerFilters = {
  session_id: exact.optional(),
  outcome: z.enum(outcomes).optional(),
  deny_reason: z.enum(denyReasons).optional(),
  enforced: flagQuery.optional(),
};

/** Of `GET /v1/decisions`, which `/v1/audit/decisions` replaces. */
export const formerDecisionsQuery = z.strictObject({ ...pageQuery, ...formerFilters });

export const decisionsQuery = withSpan(
  z.strictObject({
    ...pageQuery,
    ...formerFilters,
    agent: exact.optional().meta({ description: "The acting agent." }),
    target_kind: z.enum(targetKinds).optional(),
    ...span,
    taint: z.enum(taints).optional(),
    privileged: flagQuery.optional(),
    user_sub: exact.optional().meta({ description: "The person of the session." }),
    scope: exact.optional().meta({ description: "The scope of the session." }),
    target: exact.optional().meta({ description: "A tool, or an agent that was delegated to." }),
    protocol: flagQuery.optional().meta({
      description:
        "Messages of MCP sessions, such as initialize and tools/list: true reads only them, false leaves them out.",
    }),
    order: z.enum(decisionOrders).optional().meta({ description: "newest by default." }),
  }),
);

const check = <Name extends CheckName>(name: Name) =>
  z.object({ check: z.literal(name), passed: z.boolean(), facts: checkFacts[name] });

const explainedCheck: z.ZodType<ExplainedCheck> = z
  .discriminatedUnion("check", [
    check("session"),
    check("revocation"),
    check("identity"),
    check("block"),
    check("path"),
    check("hop_budget"),
    check("target"),
    check("data_class"),
    check("narrowing"),
    check("taint"),
  ])
  .meta({ id: "ExplainedCheck" });

export const explanationRead = z
  .object({
    action_id: z.string(),
    decision: z.enum(outcomes),
    deny_reason: z.enum(denyReasons).nullable(),
    checks: z.array(explainedCheck).readonly(),
    remedy: z.string().nullable(),
    consent_url: z.string().nullable().optional().meta({
      description:
        "Where the person of the session can admit the call now; it ends after 10 minutes. Null for a decision that no consent would change.",
    }),
  })
  .meta({ id: "Explanation" });

export const verdictsQuery = z.strictObject({
  agent: agentName,
  target: toolRef.or(agentName).meta({ description: "A tool, or an agent to delegate to." }),
  data_class: exact.optional().meta({ description: "By default each that the agent declares for the target." }),
  scope: scopeName.optional().meta({ description: "By default every scope that the agent acts in." }),
});

/** What a decision would be now (docs/reference/routes.md#verdicts). */
export const agentVerdict = z
  .object({
    scope: z.string(),
    policy_version: z.int(),
    chain: z.array(z.string()).meta({ description: "The shortest path from the person to the agent." }),
    target_kind: z.enum(targetKinds),
    data_class: z.string(),
    decision: z.enum(outcomes),
    deny_reason: z.enum(denyReasons).nullable(),
    privileged: z.boolean(),
    remedy: z.string().nullable(),
  })
  .meta({ id: "AgentVerdict" });
export const agentVerdicts = z
  .object({ agent: z.string(), target: z.string(), verdicts: z.array(agentVerdict) })
  .meta({ id: "AgentVerdicts" });

export const scopesQuery = z.strictObject({
  ...pageQuery,
  agent: agentName.optional().meta({ description: "That this agent's accepted manifest touches." }),
});

/** A scope by its newest policy. */
export const scopeRead = z
  .object({ scope: z.string(), version: z.int(), compiled_at: timestamp })
  .meta({ id: "Scope" });
export const scopePage = page(scopeRead).meta({ id: "ScopePage" });

/** An act of a person or of the service, beside the decisions (docs/reference/record.md#events). */
export const auditEvent = z
  .object({
    event_id: z.string(),
    kind: z.enum(administrativeEventKinds),
    ts: timestamp,
    actor: z.string().meta({ description: "The label of the bearer, or who held the token." }),
    session_id: z.string().nullable(),
    agent: z.string().nullable(),
    reason: z.string().nullable(),
    details: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
      .meta({ description: "Facts of the kind." }),
  })
  .meta({ id: "AuditEvent" });
export const auditEventPage = page(auditEvent).meta({ id: "AuditEventPage" });

export const eventsQuery = withSpan(
  z.strictObject({
    ...pageQuery,
    kind: z.enum(administrativeEventKinds).optional(),
    session_id: exact.optional(),
    agent: agentName.optional().meta({ description: "The agent it concerns." }),
    actor: exact.optional().meta({ description: "The label of the bearer, or who held the token." }),
    ...span,
  }),
);

/** What the newest policies decide on the calls of a group (docs/reference/record.md#what-the-newest-policy-decides). */
export const wouldBlockNow = z
  .object({
    status: z.enum(wouldBlockStatuses).meta({ description: "`admitted` if every scope of the calls admits them." }),
    scopes: z
      .array(
        z.object({
          scope: z.string(),
          since_version: z
            .int()
            .nullable()
            .meta({ description: "Every policy version from this one on admits the calls; null while one is denied." }),
          deny_reason: z.enum(denyReasons).nullable().meta({
            description: "Of the newest version. With a null `since_version`, null: it could not be decided.",
          }),
        }),
      )
      .readonly()
      .meta({ description: "By name." }),
  })
  .meta({ id: "WouldBlockNow" });

/** Like calls that only observe mode let pass (docs/reference/record.md#would-block-list). */
export const wouldBlockGroup = z
  .object({
    agent: z.string().meta({ description: "The acting agent; at hop 1 the human." }),
    target: z.string(),
    target_kind: z.enum(targetKinds),
    data_class: z.string(),
    deny_reason: z.enum(denyReasons).nullable(),
    count: z.int(),
    first_ts: timestamp,
    last_ts: timestamp,
    now: wouldBlockNow,
  })
  .meta({ id: "WouldBlock" });
export const wouldBlockPage = page(wouldBlockGroup).meta({ id: "WouldBlockPage" });

export const wouldBlockQuery = withSpan(z.strictObject({ ...pageQuery, scope: scopeName.optional(), ...span }));

/** A candidate manifest, and which recorded decisions to decide again (docs/reference/record.md#replay). */
export const replayRequest = withSpan(
  z.strictObject({
    agent: agentName.meta({ description: "Whose manifest it is." }),
    manifest: agentManifest,
    ...span,
    scope: scopeName.optional().meta({ description: "Of the sessions of one scope." }),
    acting_agent: exact.optional().meta({ description: "Of one caller; at hop 1 the human." }),
    cursor: z.string().max(4096).optional().meta({ description: "`next_cursor` of the page before." }),
  }),
).meta({ id: "ReplayRequest" });

/** Like decisions whose outcome the candidate changes. */
export const replayChange = z
  .object({
    scope: z.string(),
    agent: z.string().meta({ description: "The acting agent; at hop 1 the human." }),
    target: z.string(),
    target_kind: z.enum(targetKinds),
    data_class: z.string(),
    becomes: z.enum(outcomes).meta({ description: "Under the candidate. Recorded is the other outcome." }),
    deny_reason: z.enum(denyReasons).nullable().meta({ description: "Of the deny, recorded or under the candidate." }),
    count: z.int(),
    first_ts: timestamp,
    last_ts: timestamp,
    action_ids: z.array(z.string()).readonly().meta({ description: "The newest three." }),
  })
  .meta({ id: "ReplayChange" });

export const replayPage = z
  .object({
    changes: z.array(replayChange),
    read: z.int().meta({ description: "Decisions of the log that this page covers, of every scope." }),
    judged: z.int().meta({ description: "Those of the candidate's scopes." }),
    oldest_ts: timestamp.nullable().meta({ description: "Of those that were read." }),
    next_cursor: z.string().nullable(),
  })
  .meta({ id: "ReplayPage" });

export const sessionsQuery = z.strictObject({ ...pageQuery, ...sessionFilters });

export const sessionSummary = z
  .object({
    session_id: z.string(),
    status: z.enum(sessionStatuses),
    scope: z.string(),
    user_sub: z.string(),
    policy_version: z.int(),
    hop_budget: z.int(),
    consented_by: z.string(),
    consented_at: timestamp,
    expires_at: timestamp,
    revoked_at: timestamp.nullable(),
    revoked_by: z.string().nullable(),
    revoked_reason: z.string().nullable(),
  })
  .meta({ id: "SessionSummary" });
export const sessionPage = page(sessionSummary);

export const taintMark = z
  .object({
    agent: z.string().nullable().meta({ description: "Null for the human." }),
    taint: z.enum(taints),
    source: z.string(),
    action_id: z.string(),
    enforced: z
      .boolean()
      .meta({ description: "False: an observed deny left it, and only observed decisions heed it." }),
    ts: timestamp,
  })
  .meta({ id: "TaintMark" });

export const sessionRead = z
  .object({ ...sessionSummary.shape, taint_marks: z.array(taintMark) })
  .meta({ id: "SessionRead" });
