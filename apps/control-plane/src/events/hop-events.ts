import type { DecisionRecord, PopFailureCause } from "@svc/core";
import { type SpanFacts, type Telemetry, type TelemetryEvent, verdictFacts } from "@svc/telemetry";
import { actChain, type HopClaims } from "@svc/tokens";
import type { Authorized } from "../commands/hop/authorize.ts";
import type { Exchanged } from "../commands/hop/exchange.ts";
import type { Minted } from "../commands/hop/mint.ts";
import type { Renewed } from "../commands/hop/renew.ts";

type Counts = NonNullable<TelemetryEvent<"control_plane">["count"]>;

/** The span, metrics and log line of each result of a hop endpoint. */
export const hopEvents = (identify: Telemetry<"control_plane">["identify"]) => {
  const decisionFacts: DecisionFacts = (record, claims) => ({
    ...verdictFacts(record.denyReason),
    ...identify({ agent: record.actingAgent, actChain: actChain(claims), taintSource: record.taintSource }),
    "authz.action_id": record.actionId,
    "authz.session_id": record.sessionId,
    "authz.hop": record.hop,
    "authz.enforced": record.enforced,
    "authz.target_kind": record.targetKind,
    "authz.privileged": record.privileged,
    "authz.taint": record.taint,
    "authz.policy_version": record.policyVersion,
    "authz.guarantee_level": record.guaranteeLevel,
  });
  const subjectFacts: SubjectFacts = (claims) => ({
    ...identify({ actChain: actChain(claims) }),
    "authz.session_id": claims.sessionId,
    "authz.hop": claims.hop,
  });
  return {
    authorize: (result: Authorized) => authorizeEvent(result, decisionFacts),
    exchange: (result: Exchanged) => exchangeEvent(result, decisionFacts, subjectFacts),
    renew: renewEvent,
    mint: (result: Minted) => mintEvent(result, decisionFacts, subjectFacts),
  };
};

type DecisionFacts = (record: DecisionRecord, claims: HopClaims) => SpanFacts;
type SubjectFacts = (claims: HopClaims) => SpanFacts;

/** Every committed decision counts the same, whichever endpoint made it. */
const decisionCounts = (record: DecisionRecord, marks: number): Counts => ({
  svc_decisions: { outcome: record.decision },
  svc_chain_writes: 1,
  ...(record.denyReason !== null && { svc_denials: { reason: record.denyReason } }),
  ...(record.denyReason === "TAINT_BLOCKED" && { svc_taint_blocks: 1 }),
  ...(record.denyReason === "AGENT_REVOKED" && revokedHopRefusal(record)),
  ...(marks > 0 && { svc_taint_marks: marks }),
});

const revokedHopRefusal = ({ stage }: DecisionRecord): Counts =>
  stage === "mint" ? {} : { svc_revoked_hop_refusals: { stage: stage === "authorize" ? "decide" : "exchange" } };

const proofFacts = (result: { readonly kind: string; readonly cause?: PopFailureCause }) =>
  result.cause !== undefined && { "authz.pop_failure_cause": result.cause };

const authorizeRefusals = {
  unauthorized: "authorize refused: the bearer is no current-hop token",
  observe_not_admitted: "authorize refused: the scope may not be observed",
  invalid_proof: "authorize refused: the actor proof is not valid",
} as const satisfies Record<Exclude<Authorized["kind"], "decided">, string>;

function authorizeEvent(result: Authorized, decisionFacts: DecisionFacts) {
  if (result.kind !== "decided") {
    const facts: SpanFacts = { ...proofFacts(result) };
    return { facts, log: ["info", authorizeRefusals[result.kind]] } as const;
  }
  const { record, claims, marks, dataClassDeclared } = result;
  const dataClass = dataClassDeclared && { "authz.data_class": record.dataClass };
  const facts: SpanFacts = { ...decisionFacts(record, claims), ...dataClass };
  const isAllow = record.decision === "allow";
  return {
    facts,
    count: decisionCounts(record, marks),
    log: ["info", isAllow ? "hop allowed" : "hop denied"],
  } as const;
}

function exchangeEvent(result: Exchanged, decisionFacts: DecisionFacts, subjectFacts: SubjectFacts) {
  switch (result.kind) {
    case "exchanged": {
      const facts: SpanFacts = { ...decisionFacts(result.allow, result.subject), "authz.result": "exchanged" };
      const count: Counts = result.marks > 0 ? { svc_taint_marks: result.marks } : {};
      return { facts, count, log: ["info", "token exchanged"] } as const;
    }
    case "denied": {
      const facts: SpanFacts = { ...decisionFacts(result.record, result.subject), "authz.result": "refused" };
      const count = decisionCounts(result.record, result.marks);
      return { facts, count, log: ["info", "exchange denied: the allow is no longer valid"] } as const;
    }
    case "invalid_proof": {
      const facts = refusedFacts(result, subjectFacts);
      const count: Counts = { svc_exchange_pop_failures: { cause: result.cause } };
      return { facts, count, log: ["info", "exchange refused: the actor proof is not valid"] } as const;
    }
    case "invalid_grant": {
      const facts = refusedFacts(result, subjectFacts);
      if (!result.replayed) return { facts, log: ["info", "exchange refused: no such grant"] } as const;
      // A lost answer, or a stolen token: an operator should look at either.
      return { facts, log: ["warn", "a spent token was presented"] } as const;
    }
    case "invalid_subject_token": {
      const facts = refusedFacts(result, subjectFacts);
      return { facts, log: ["info", "exchange refused: the subject token does not verify"] } as const;
    }
  }
}

interface Refusal {
  readonly kind: string;
  readonly subject?: HopClaims;
  readonly cause?: PopFailureCause;
}

const refusedFacts = (result: Refusal, subjectFacts: SubjectFacts): SpanFacts => ({
  ...(result.subject !== undefined && subjectFacts(result.subject)),
  ...proofFacts(result),
  "authz.result": "refused",
});

const renewals = {
  renewed: ["info", "token renewed"],
  token_spent: ["warn", "a spent token was presented"],
  refused: ["info", "renewal denied"],
  invalid_proof: ["info", "renewal refused: the actor proof is not valid"],
  unauthorized: ["info", "renewal refused: the bearer is no current-hop token"],
} as const satisfies Record<Renewed["kind"], readonly [string, string]>;

function renewEvent(result: Renewed) {
  const facts: SpanFacts =
    "subject" in result ? { "authz.session_id": result.subject.sessionId, "authz.hop": result.subject.hop } : {};
  return { facts, log: renewals[result.kind] } as const;
}

function mintEvent(result: Minted, decisionFacts: DecisionFacts, subjectFacts: SubjectFacts) {
  const refused: Counts = { svc_transaction_mints: { result: "refused" } };
  switch (result.kind) {
    case "minted": {
      const facts: SpanFacts = { ...decisionFacts(result.allow, result.subject), "authz.result": "minted" };
      const count: Counts = { svc_transaction_mints: { result: "minted" } };
      return { facts, count, log: ["info", "transaction token minted"] } as const;
    }
    case "denied": {
      const facts: SpanFacts = { ...decisionFacts(result.record, result.subject), "authz.result": "refused" };
      const count: Counts = { ...decisionCounts(result.record, result.marks), ...refused };
      return { facts, count, log: ["info", "mint denied: the allow is no longer valid"] } as const;
    }
    default:
      return { facts: refusedFacts(result, subjectFacts), count: refused, log: ["info", "mint refused"] } as const;
  }
}
