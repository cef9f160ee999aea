import {
  agentName,
  allowMatches,
  type DecisionRecord,
  type HopRequest,
  type PopFailureCause,
  type Taint,
} from "@svc/core";
import { callerOfToken, type HopClaims, narrowedClaims } from "@svc/tokens";
import type { Prover } from "../../ports/spend-ledger.ts";
import { isUuid } from "../identifier.ts";
import { proveActor, proversOf } from "./actor-proof.ts";
import type { HopDeps } from "./hop-deps.ts";
import { SpendUnavailable } from "./hop-faults.ts";
import { type RecordedDenial, recordDenial } from "./record-denial.ts";
import {
  chainOf,
  jtiHashOf,
  maxAttempts,
  readStanding,
  recallStanding,
  type Standing,
  toHopRequest,
  verifySubject,
} from "./standing.ts";
import { type Judged, judge } from "./verdict.ts";

export interface ExchangeCommand {
  readonly subjectToken: string;
  readonly actorToken: string | undefined;
  /** RFC 8693 `resource`: the target. */
  readonly resource: string;
  /** The data class. */
  readonly scope: string;
  /** Absent and malformed are the same refusal as unknown (specification: Error table). */
  readonly actionId: string | undefined;
  readonly taint: Taint | undefined;
}

export type Exchanged =
  | {
      readonly kind: "exchanged";
      readonly accessToken: string;
      readonly expiresInSeconds: number;
      readonly subject: HopClaims;
      readonly allow: DecisionRecord;
      /** Set with the spend, where the exchange declared taint. */
      readonly marks: number;
    }
  | { readonly kind: "invalid_subject_token" }
  | { readonly kind: "invalid_proof"; readonly subject: HopClaims; readonly cause: PopFailureCause }
  /** `replayed`: the token was spent before, by a lost answer or a thief. */
  | { readonly kind: "invalid_grant"; readonly subject: HopClaims; readonly replayed: boolean }
  | ({ readonly kind: "denied"; readonly subject: HopClaims } & RecordedDenial);

/**
 * Narrows the subject token to one allowed hop and spends both (contract: Hop endpoints, token exchange). Spend last: a
 * refused exchange must not burn the caller's token.
 * @throws {SpendUnavailable} where the single use could not be decided; nothing was issued.
 */
export async function exchange(deps: HopDeps, command: ExchangeCommand): Promise<Exchanged> {
  deps.requireAcknowledged();
  const subject = await verifySubject(deps, command.subjectToken);
  // A tool's token is for that resource server and for the mint alone.
  if (subject === undefined || subject.targetKind === "tool") return { kind: "invalid_subject_token" };
  // What no target can be called matches no allow; it only must not reach the database.
  const targetAgent = agentName.safeParse(command.resource).data;
  const recalled = await recallStanding(deps, subject, targetAgent);
  if (recalled !== undefined) {
    const result = await attemptExchange(deps, command, recalled);
    if (result !== "stale" && (result.kind === "exchanged" || result.kind === "denied")) return result;
  }
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const standing = await readStanding(deps, command.subjectToken, subject, targetAgent);
    if (standing === undefined) return { kind: "invalid_subject_token" };
    const result = await attemptExchange(deps, command, standing);
    if (result !== "stale") return result;
  }
  throw new SpendUnavailable("the session changed with every attempt to spend its token");
}

async function attemptExchange(
  deps: HopDeps,
  command: ExchangeCommand,
  standing: Standing,
): Promise<Exchanged | "stale"> {
  const { claims: subject } = standing;
  const proven = await proveExchange(deps, command, standing);
  if (!proven.ok) return { kind: "invalid_proof", subject, cause: proven.cause };
  const allow = await findAllow(deps, command, subject);
  if (allow === undefined) return spentOrUnknown(deps, command, subject);
  const hop = toHopRequest(subject, {
    target: allow.target,
    targetKind: allow.targetKind,
    dataClass: allow.dataClass,
    declaredTaint: command.taint,
  });
  const judged = await judge(deps, standing, hop, allow.enforced);
  if (judged.verdict.outcome === "allow")
    return spend(deps, { command, standing, allow, judged, prover: proven.prover });
  // A spend would find out; a denial must not be recorded for what was used before.
  const spent = await deps.spends.spent(subject.sessionId, jtiHashOf(subject), allow.actionId);
  if (spent.token || spent.allow) return { kind: "invalid_grant", subject, replayed: spent.token };
  return deny(deps, standing, allow, hop, judged);
}

function proveExchange(deps: HopDeps, command: ExchangeCommand, { claims, policy }: Standing) {
  const kind = policy.agents.has(command.resource) ? "agent" : "tool";
  const expected = proversOf(policy, chainOf(claims), { name: command.resource, kind });
  return proveActor(deps, command.subjectToken, command.actorToken, expected);
}

/** The allow that was made for just this exchange; every mismatch is the same refusal. */
async function findAllow(
  deps: HopDeps,
  command: ExchangeCommand,
  subject: HopClaims,
): Promise<DecisionRecord | undefined> {
  if (!isUuid(command.actionId)) return undefined;
  const allow = await deps.decisions.find(command.actionId);
  const request = {
    sessionId: subject.sessionId,
    caller: callerOfToken(subject),
    hop: subject.hop,
    parentActionId: subject.actionId,
    target: command.resource,
    dataClass: command.scope,
  };
  return allow !== undefined && allowMatches(allow, request, deps.clock.nowMs()) ? allow : undefined;
}

async function spentOrUnknown(deps: HopDeps, command: ExchangeCommand, subject: HopClaims): Promise<Exchanged> {
  const actionId = isUuid(command.actionId) ? command.actionId : undefined;
  const { token } = await deps.spends.spent(subject.sessionId, jtiHashOf(subject), actionId);
  return { kind: "invalid_grant", subject, replayed: token };
}

async function deny(
  deps: HopDeps,
  standing: Standing,
  allow: DecisionRecord,
  hop: HopRequest,
  judged: Judged,
): Promise<Exchanged | "stale"> {
  const denial = await recordDenial(deps, standing, allow, hop, judged, "exchange");
  return denial === "stale" ? "stale" : { kind: "denied", subject: standing.claims, ...denial };
}

interface Spending {
  readonly command: ExchangeCommand;
  readonly standing: Standing;
  readonly allow: DecisionRecord;
  readonly judged: Judged;
  readonly prover: Prover | undefined;
}

async function spend(deps: HopDeps, spending: Spending): Promise<Exchanged | "stale"> {
  const { standing, allow, judged, prover } = spending;
  const { claims: subject, present } = standing;
  const entry = guardEntry(deps, subject, allow.actionId);
  const claimed = await deps.guard.claim(entry);
  if (claimed === "other_action") return { kind: "invalid_grant", subject, replayed: true };
  // `same_action` may be a late write of our own, or a replay: the database tells them apart.
  const outcome = await deps.spends.spend(
    {
      kind: "exchange",
      actionId: allow.actionId,
      jtiHash: jtiHashOf(subject),
      sessionId: subject.sessionId,
      prover,
      spentAtMs: deps.clock.nowMs(),
    },
    judged.marking,
    present.epochs,
  );
  if (outcome.kind === "spent") return issue(deps, spending, outcome.marks);
  // Definitely not spent by us, so the token may still be spent for another action.
  if (outcome.kind !== "token_spent" && claimed === "claimed") await deps.guard.release(entry);
  if (outcome.kind === "stale") return "stale";
  if (outcome.kind === "proof_used") return { kind: "invalid_proof", subject, cause: "invalid" };
  return { kind: "invalid_grant", subject, replayed: outcome.kind === "token_spent" };
}

/** Outlives the token by a minute, so that no entry goes while its token could still be presented. */
export const guardEntry = (deps: Pick<HopDeps, "clock">, subject: HopClaims, actionId: string) => ({
  key: Buffer.from(jtiHashOf(subject)).toString("base64url"),
  actionId,
  ttlSeconds: Math.max(1, Math.ceil(subject.exp - deps.clock.nowMs() / 1000)) + 60,
});

async function issue(deps: HopDeps, { standing, allow, judged }: Spending, marks: number): Promise<Exchanged> {
  const { claims: subject, present } = standing;
  const nowSeconds = Math.floor(deps.clock.nowMs() / 1000);
  const claims = narrowedClaims(
    subject,
    { ...allow, taint: judged.verdict.facts.taint, privileged: judged.verdict.facts.privileged },
    { jti: deps.ids.next(), nowSeconds, sessionExpiresAtSeconds: present.session.expiresAtMs / 1000 },
  );
  return {
    kind: "exchanged",
    accessToken: await deps.issueHopToken(claims),
    expiresInSeconds: claims.exp - nowSeconds,
    subject,
    allow,
    marks,
  };
}
