import { type DecisionRecord, denyReasonTable } from "@svc/core";
import { type SpanFacts, type Telemetry, type TelemetryEvent, verdictFacts } from "@svc/telemetry";
import { actChain, type HopClaims } from "@svc/tokens";
import type { Authorized } from "../commands/hop/authorize.ts";
import type { Exchanged } from "../commands/hop/exchange.ts";
import type { Minted } from "../commands/hop/mint.ts";
import type { Renewed } from "../commands/hop/renew.ts";

type Identify = Telemetry<"control_plane">["identify"];
type Counts = NonNullable<TelemetryEvent<"control_plane">["count"]>;

/** What each answer of a hop endpoint leaves behind. */
export const hopEvents = (identify: Identify) => {
  const decisionFacts = (record: DecisionRecord, claims: HopClaims): SpanFacts => ({
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
  const subjectFacts = (claims: HopClaims): SpanFacts => ({
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

function authorizeEvent(result: Authorized, decisionFacts: DecisionFacts) {
  switch (result.kind) {
    case "decided": {
      const { record, claims, marks, dataClassDeclared } = result;
      const dataClass = dataClassDeclared && { "authz.data_class": record.dataClass };
      const facts: SpanFacts = { ...decisionFacts(record, claims), ...dataClass };
      const count = decisionCounts(record, marks);
      if (record.denyReason === null) return { facts, count, log: ["info", "hop allowed"] } as const;
      return { facts, count, log: [denyReasonTable[record.denyReason].logLevel, "hop denied"] } as const;
    }
    case "unauthorized":
      return { log: ["info", "authorize refused: the bearer is no current-hop token"] } as const;
    case "observe_not_admitted":
      return { log: ["info", "authorize refused: the scope may not be observed"] } as const;
    case "invalid_proof": {
      const facts: SpanFacts = { "authz.pop_failure_cause": result.cause };
      return { facts, log: ["info", "authorize refused: the actor proof does not hold"] } as const;
    }
    default:
      return result satisfies never;
  }
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
      return { facts, count, log: ["info", "exchange denied: the allow no longer holds"] } as const;
    }
    case "invalid_proof": {
      const facts: SpanFacts = {
        ...subjectFacts(result.subject),
        "authz.result": "refused",
        "authz.pop_failure_cause": result.cause,
      };
      const count: Counts = { svc_exchange_pop_failures: { cause: result.cause } };
      return { facts, count, log: ["info", "exchange refused: the actor proof does not hold"] } as const;
    }
    case "invalid_grant": {
      const facts: SpanFacts = { ...subjectFacts(result.subject), "authz.result": "refused" };
      if (!result.replayed) return { facts, log: ["info", "exchange refused: no such grant"] } as const;
      // A lost answer, or a stolen token: either wants a look.
      return { facts, log: ["warn", "a spent token was presented"] } as const;
    }
    case "invalid_subject_token": {
      const facts: SpanFacts = { "authz.result": "refused" };
      return { facts, log: ["info", "exchange refused: the subject token does not verify"] } as const;
    }
    default:
      return result satisfies never;
  }
}

function renewEvent(result: Renewed) {
  const facts: SpanFacts =
    "subject" in result ? { "authz.session_id": result.subject.sessionId, "authz.hop": result.subject.hop } : {};
  switch (result.kind) {
    case "renewed":
      return { facts, log: ["info", "token renewed"] } as const;
    case "token_spent":
      return { facts, log: ["warn", "a spent token was presented"] } as const;
    case "refused":
      return { facts, log: ["info", "renewal denied"] } as const;
    case "invalid_proof":
      return { facts, log: ["info", "renewal refused: the actor proof does not hold"] } as const;
    case "unauthorized":
      return { facts, log: ["info", "renewal refused: the bearer is no current-hop token"] } as const;
    default:
      return result satisfies never;
  }
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
      return { facts, count, log: ["info", "mint denied: the allow no longer holds"] } as const;
    }
    default: {
      const facts: SpanFacts = {
        ...("subject" in result && subjectFacts(result.subject)),
        ...(result.kind === "invalid_proof" && { "authz.pop_failure_cause": result.cause }),
        "authz.result": "refused",
      };
      return { facts, count: refused, log: ["info", "mint refused"] } as const;
    }
  }
}
