import {
  agentName,
  allowMatches,
  type DecisionRecord,
  effectiveTaint,
  type HopRequest,
  lendersOf,
  type PolicyIndex,
  type PopFailureCause,
  type Taint,
} from "@svc/core";
import { callerOfToken, type HopClaims, narrowedClaims } from "@svc/tokens";
import type { Prover } from "../../ports/spend-ledger.ts";
import type { HopDeps } from "../deps.ts";
import { isUuid } from "../identifier.ts";
import { proveActor, proversOf } from "./actor-proof.ts";
import { chainOf, type HopState, jtiHashOf, onHopState, SpendUnavailable, toHopRequest } from "./hop-state.ts";
import { isCurrentHop, requireVerified, type SubjectToken } from "./hop-tokens.ts";
import { spendToken } from "./spend-token.ts";
import { commitDecision, type Judged, judge, type Recorded } from "./verdict.ts";

export interface ExchangeCommand {
  /** Undefined for a token that does not verify. */
  readonly subject: SubjectToken | undefined;
  readonly actorToken: string | undefined;
  /** RFC 8693 `resource`: the target. */
  readonly resource: string;
  /** The data class. */
  readonly scope: string;
  /** Absent, malformed and unknown are the same refusal (docs/reference/routes.md#token-exchange). */
  readonly actionId: string | undefined;
  readonly taint: Taint | undefined;
}

export interface Issued {
  readonly kind: "exchanged";
  readonly accessToken: string;
  readonly expiresInSeconds: number;
  readonly subject: HopClaims;
  readonly allow: DecisionRecord;
  /** Set with the spend, where the exchange declared taint. */
  readonly marks: number;
}

export type Exchanged =
  | Issued
  | { readonly kind: "invalid_subject_token" }
  | { readonly kind: "invalid_proof"; readonly subject: HopClaims; readonly cause: PopFailureCause }
  /** `replayed`: the token was spent before. The answer was lost, or the token was stolen. */
  | { readonly kind: "invalid_grant"; readonly subject: HopClaims; readonly replayed: boolean }
  | ({ readonly kind: "denied"; readonly subject: HopClaims } & Recorded);

/**
 * Narrows the subject token to one allowed hop and spends both (docs/reference/routes.md#token-exchange). The spend
 * comes last: a refused exchange must not burn the caller's token.
 * @throws {SpendUnavailable} if the single use could not be decided; no token was issued.
 */
export async function exchange(deps: HopDeps, command: ExchangeCommand): Promise<Exchanged> {
  deps.requireAcknowledged();
  const subject = command.subject && requireVerified(command.subject);
  if (subject === undefined || !isCurrentHop(subject.claims)) return { kind: "invalid_subject_token" };
  const exchanged = await onHopState<Exchanged>(deps, {
    subject,
    // Another name matches no allow. It only must not reach the database.
    targetAgent: agentName.safeParse(command.resource).data,
    lenders: (policy) => lendersOf(policy, calledBy(command, subject.claims, policy)),
    confirmed: ["exchanged", "denied"],
    attempt: (state) => attemptExchange(deps, command, subject.token, state),
    exhausted: () => new SpendUnavailable("the session changed during every attempt to spend the token"),
  });
  return exchanged ?? { kind: "invalid_subject_token" };
}

/** As far as it is known before the allow is found. */
const calledBy = ({ resource, scope }: ExchangeCommand, subject: HopClaims, { agents }: PolicyIndex) =>
  ({
    chain: chainOf(subject),
    target: resource,
    targetKind: agents.has(resource) ? "agent" : "tool",
    dataClass: scope,
  }) as const;

async function attemptExchange(
  deps: HopDeps,
  command: ExchangeCommand,
  token: string,
  state: HopState,
): Promise<Exchanged | "stale"> {
  const { claims: subject, policy, session } = state;
  const expected = proversOf(policy, calledBy(command, subject, policy), session);
  const proven = await proveActor(deps, token, command.actorToken, expected);
  if (!proven.ok) return { kind: "invalid_proof", subject, cause: proven.cause };
  const allow = await findAllow(deps, command, subject);
  if (allow === undefined) return spentOrUnknown(deps, command, subject);
  const { target, targetKind, dataClass } = allow;
  const hop = toHopRequest(subject, { target, targetKind, dataClass, declaredTaint: command.taint });
  const judged = await judge(deps, state, hop, allow.enforced);
  return judged.verdict.outcome === "allow"
    ? spend(deps, state, allow, hop, judged, proven.prover)
    : deny(deps, state, allow, hop, judged);
}

/** The allow for exactly this exchange, in the order of its `scope`. Every mismatch is the same refusal. */
async function findAllow(
  deps: HopDeps,
  command: ExchangeCommand,
  subject: HopClaims,
): Promise<DecisionRecord | undefined> {
  if (!isUuid(command.actionId)) return undefined;
  const allow = await deps.decisionLog.find(command.actionId);
  const request = {
    sessionId: subject.sessionId,
    caller: callerOfToken(subject),
    hop: subject.hop,
    parentActionId: subject.actionId,
    target: command.resource,
    dataClass: command.scope,
  };
  if (allow === undefined || !allowMatches(allow, request, deps.clock.nowMs())) return undefined;
  return { ...allow, dataClass: command.scope };
}

async function spentOrUnknown(deps: HopDeps, command: ExchangeCommand, subject: HopClaims): Promise<Exchanged> {
  const actionId = isUuid(command.actionId) ? command.actionId : undefined;
  const { token } = await deps.spends.spent(subject.sessionId, jtiHashOf(subject), actionId);
  return { kind: "invalid_grant", subject, replayed: token };
}

/** Looks for earlier spends first, since a denial must not be recorded for what was used before. */
async function deny(
  deps: HopDeps,
  state: HopState,
  allow: DecisionRecord,
  hop: HopRequest,
  judged: Judged,
): Promise<Exchanged | "stale"> {
  const { claims: subject } = state;
  const spent = await deps.spends.spent(subject.sessionId, jtiHashOf(subject), allow.actionId);
  if (spent.token || spent.allow) return { kind: "invalid_grant", subject, replayed: spent.token };
  const denial = await commitDecision(deps, state, hop, judged, { ...allow, stage: "exchange" });
  return denial === "stale" ? "stale" : { kind: "denied", subject, ...denial };
}

async function spend(
  deps: HopDeps,
  state: HopState,
  allow: DecisionRecord,
  hop: HopRequest,
  judged: Judged,
  prover: Prover | undefined,
): Promise<Exchanged | "stale"> {
  const { claims: subject } = state;
  const purpose = { kind: "exchange", actionId: allow.actionId } as const;
  const outcome = await spendToken(deps, state, prover, purpose, judged.marking);
  switch (outcome.kind) {
    case "spent":
      return issue(deps, state, allow, hop, judged, outcome.marks);
    case "stale":
      return "stale";
    case "proof_used":
      return { kind: "invalid_proof", subject, cause: "invalid" };
    default:
      return { kind: "invalid_grant", subject, replayed: outcome.kind === "token_spent" };
  }
}

/** The narrowed token of a hop whose allow and token were spent. */
export async function issue(
  deps: HopDeps,
  { claims: subject, session }: HopState,
  allow: DecisionRecord,
  hop: HopRequest,
  judged: Judged,
  marks: number,
): Promise<Issued> {
  const { privileged } = judged.verdict.facts;
  // The token may be enforced on: it knows nothing of marks that only observed decisions heed.
  const { taint } = effectiveTaint(hop, session.marks.enforced);
  const nowSeconds = Math.floor(deps.clock.nowMs() / 1000);
  const sessionExpiresAtSeconds = session.facts.expiresAtMs / 1000;
  const issuance = { jti: deps.ids.next(), nowSeconds, sessionExpiresAtSeconds };
  const claims = narrowedClaims(subject, { ...allow, taint, privileged }, issuance);
  const accessToken = await deps.signer.hopToken(claims);
  return { kind: "exchanged", accessToken, expiresInSeconds: claims.exp - nowSeconds, subject, allow, marks };
}
