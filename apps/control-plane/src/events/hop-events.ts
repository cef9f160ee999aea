import { type DecisionRecord, isDataClassDeclared, type PopFailureCause } from "@svc/core";
import { type SpanFacts, type Telemetry, type TelemetryEvent, verdictFacts } from "@svc/telemetry";
import { actChain, type HopClaims } from "@svc/tokens";
import type { Authorized } from "../commands/hop/authorize.ts";
import type { Exchanged } from "../commands/hop/exchange.ts";
import type { Minted } from "../commands/hop/mint.ts";
import type { Renewed } from "../commands/hop/renew.ts";

type Counts = NonNullable<TelemetryEvent<"control_plane">["count"]>;

/** The members of a hop endpoint's results that become facts. */
interface Answered {
  readonly kind: string;
  readonly subject?: HopClaims;
  readonly allow?: DecisionRecord;
  readonly record?: DecisionRecord;
  readonly cause?: PopFailureCause;
}

type FactsOf = (
  answered: Answered,
  result?: "exchanged" | "minted" | "refused",
) => Pick<TelemetryEvent<"control_plane">, "facts" | "spanFacts">;

/** The span, metrics and log line of each result of a hop endpoint. */
export const hopEvents = (identify: Telemetry<"control_plane">["identify"]) => {
  const decisionFacts = (record: DecisionRecord, claims: HopClaims): SpanFacts => ({
    ...verdictFacts(record.denyReason),
    ...identify({ agent: record.actingAgent, actChain: actChain(claims), taintSource: record.taintSource }),
    "authz.enforced": record.enforced,
    "authz.target_kind": record.targetKind,
    ...(isDataClassDeclared(record.denyReason) && { "authz.data_class": record.dataClass }),
    "authz.privileged": record.privileged,
    "authz.taint": record.taint,
    "authz.policy_version": record.policyVersion,
    "authz.guarantee_level": record.guaranteeLevel,
  });
  const subjectFacts = (claims: HopClaims): SpanFacts => identify({ actChain: actChain(claims) });
  const factsOf: FactsOf = ({ subject, allow, record = allow, cause }, result) => ({
    facts: subject && idsIn(subject, record),
    spanFacts: () => ({
      ...(subject && (record === undefined ? subjectFacts(subject) : decisionFacts(record, subject))),
      ...(cause !== undefined && { "authz.pop_failure_cause": cause }),
      ...(result !== undefined && { "authz.result": result }),
    }),
  });
  return {
    authorize: (result: Authorized) => authorizeEvent(result, factsOf),
    exchange: (result: Exchanged) => exchangeEvent(result, factsOf),
    renew: (result: Renewed) => ({ ...factsOf(result), count: proofCounts(result), log: renewals[result.kind] }),
    mint: (result: Minted) => mintEvent(result, factsOf),
  };
};

const idsIn = (subject: HopClaims, record: DecisionRecord | undefined): SpanFacts =>
  record === undefined
    ? { "authz.session_id": subject.sessionId, "authz.hop": subject.hop }
    : { "authz.action_id": record.actionId, "authz.session_id": record.sessionId, "authz.hop": record.hop };

/** Every committed decision counts the same, whichever endpoint made it. */
const decisionCounts = (record: DecisionRecord, marks: number): Counts => ({
  svc_decisions: { outcome: record.decision },
  svc_chain_writes: 1,
  ...(record.denyReason !== null && { svc_denials: { reason: record.denyReason } }),
  ...(record.denyReason === "TAINT_BLOCKED" && { svc_taint_blocks: 1 }),
  ...(record.denyReason === "AGENT_REVOKED" && revokedHopRefusal(record)),
  ...(marks > 0 && { svc_taint_marks: marks }),
});

/** A failed proof counts the same at every endpoint that takes one: an agent proves itself first where it first acts. */
const proofCounts = ({ cause }: Answered): Counts =>
  cause === undefined ? {} : { svc_exchange_pop_failures: { cause } };

const revokedHopRefusal = ({ stage }: DecisionRecord): Counts =>
  stage === "mint" ? {} : { svc_revoked_hop_refusals: { stage: stage === "authorize" ? "decide" : "exchange" } };

const authorizeRefusals = {
  unauthorized: "authorize refused: the bearer is no current-hop token",
  observe_not_admitted: "authorize refused: the scope may not be observed",
  invalid_proof: "authorize refused: the actor proof is not valid",
} as const satisfies Record<Exclude<Authorized["kind"], "decided">, string>;

function authorizeEvent(result: Authorized, factsOf: FactsOf) {
  if (result.kind !== "decided") {
    return {
      ...factsOf(result),
      count: proofCounts(result),
      log: ["info", authorizeRefusals[result.kind]],
    } as const;
  }
  const { record, marks } = result;
  const log = ["info", record.decision === "allow" ? "hop allowed" : "hop denied"] as const;
  return { ...factsOf(result), count: decisionCounts(record, marks), log };
}

/** A lost answer, or a stolen token: an operator should look at either. */
const replay = ["warn", "a spent token was presented"] as const;

const exchanges = {
  exchanged: ["info", "token exchanged"],
  denied: ["info", "exchange denied: the allow is no longer valid"],
  invalid_proof: ["info", "exchange refused: the actor proof is not valid"],
  invalid_grant: ["info", "exchange refused: no such grant"],
  invalid_subject_token: ["info", "exchange refused: the subject token does not verify"],
} as const satisfies Record<Exchanged["kind"], readonly [string, string]>;

function exchangeEvent(result: Exchanged, factsOf: FactsOf) {
  const outcome = result.kind === "exchanged" ? "exchanged" : "refused";
  const isReplay = result.kind === "invalid_grant" && result.replayed;
  return {
    ...factsOf(result, outcome),
    count: exchangeCounts(result),
    log: isReplay ? replay : exchanges[result.kind],
  };
}

function exchangeCounts(result: Exchanged): Counts {
  switch (result.kind) {
    case "exchanged":
      return result.marks > 0 ? { svc_taint_marks: result.marks } : {};
    case "denied":
      return decisionCounts(result.record, result.marks);
    default:
      return proofCounts(result);
  }
}

const renewals = {
  renewed: ["info", "token renewed"],
  token_spent: replay,
  refused: ["info", "renewal denied"],
  invalid_proof: ["info", "renewal refused: the actor proof is not valid"],
  unauthorized: ["info", "renewal refused: the bearer is no current-hop token"],
} as const satisfies Record<Renewed["kind"], readonly [string, string]>;

const mints = {
  minted: "transaction token minted",
  denied: "mint denied: the allow is no longer valid",
  invalid_proof: "mint refused: the actor proof is not valid",
  unauthorized: "mint refused",
  action_not_found: "mint refused",
  transaction_not_required: "mint refused",
  already_minted: "mint refused",
} as const satisfies Record<Minted["kind"], string>;

function mintEvent(result: Minted, factsOf: FactsOf) {
  const outcome = result.kind === "minted" ? "minted" : "refused";
  const denial = result.kind === "denied" && decisionCounts(result.record, result.marks);
  const count: Counts = { ...denial, ...proofCounts(result), svc_transaction_mints: { result: outcome } };
  return { ...factsOf(result, outcome), count, log: ["info", mints[result.kind]] } as const;
}
