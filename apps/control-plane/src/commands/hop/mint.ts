import { type DecisionRecord, type HopRequest, type PopFailureCause, splitDataClasses } from "@svc/core";
import { type HopClaims, isNarrowed, issueTransactionToken, type NarrowedClaims, transactionClaims } from "@svc/tokens";
import { isUuid } from "../identifier.ts";
import { proveActor, proversOf } from "./actor-proof.ts";
import type { HopDeps } from "./hop-deps.ts";
import { SpendUnavailable } from "./hop-faults.ts";
import { type RecordedDenial, recordDenial } from "./record-denial.ts";
import { maxAttempts, readStanding, type Standing, verifySubject } from "./standing.ts";
import { judge } from "./verdict.ts";

export interface MintCommand {
  /** The bearer: the narrowed token of the exchange. */
  readonly token: string;
  readonly actionId: string;
  /** base64url(SHA-256(RFC 8785 canonical JSON)) of the call's parameters. */
  readonly paramsHash: string;
  readonly actorToken: string | undefined;
}

export type Minted =
  | {
      readonly kind: "minted";
      readonly transactionToken: string;
      readonly expiresInSeconds: number;
      readonly subject: HopClaims;
      readonly allow: DecisionRecord;
    }
  | { readonly kind: "unauthorized" }
  | { readonly kind: "action_not_found"; readonly subject: HopClaims }
  | { readonly kind: "transaction_not_required"; readonly subject: HopClaims }
  | { readonly kind: "already_minted"; readonly subject: HopClaims }
  | { readonly kind: "invalid_proof"; readonly subject: HopClaims; readonly cause: PopFailureCause }
  | ({ readonly kind: "denied"; readonly subject: HopClaims } & RecordedDenial);

/**
 * Binds a privileged call to its parameters, once (contract: Hop endpoints, `POST /v1/token/transaction`). The whole
 * verdict is asked again.
 * @throws {SpendUnavailable} where the mint could not be recorded; nothing was issued.
 */
export async function mint(deps: HopDeps, command: MintCommand): Promise<Minted> {
  deps.requireAcknowledged();
  const subject = await verifySubject(deps, command.token);
  if (subject === undefined || !isNarrowed(subject)) return { kind: "unauthorized" };
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    // First, so that a token of a removed key learns nothing of its action.
    const standing = await readStanding(deps, command.token, subject);
    if (standing === undefined) return { kind: "unauthorized" };
    const result = await attemptMint(deps, command, { ...standing, claims: subject });
    if (result !== "stale") return result;
  }
  throw new SpendUnavailable("the session changed with every attempt to mint on it");
}

/** The hop as it was authorized: one before the narrowed token's, under what its subject token was narrowed to. */
async function recordedHop(deps: HopDeps, subject: HopClaims, allow: DecisionRecord): Promise<HopRequest> {
  const parent = allow.parentActionId === null ? undefined : await deps.decisions.find(allow.parentActionId);
  return {
    hop: allow.hop,
    chain: allow.chain,
    target: allow.target,
    targetKind: allow.targetKind,
    dataClass: allow.dataClass,
    narrowedTo: allow.hop === 1 ? undefined : splitDataClasses(parent?.dataClass ?? ""),
    tokenTaint: subject.taint,
    declaredTaint: undefined,
  };
}

async function attemptMint(
  deps: HopDeps,
  command: MintCommand,
  standing: Standing & { readonly claims: NarrowedClaims },
): Promise<Minted | "stale"> {
  const { claims: subject, policy, present } = standing;
  const { actionId } = command;
  const allow = isUuid(actionId) && subject.actionId === actionId ? await deps.decisions.find(actionId) : undefined;
  if (allow?.decision !== "allow") return { kind: "action_not_found", subject };
  if (!subject.privileged) return { kind: "transaction_not_required", subject };
  const hop = await recordedHop(deps, subject, allow);
  const expected = proversOf(policy, hop.chain, { name: hop.target, kind: hop.targetKind });
  const proven = await proveActor(deps, command.token, command.actorToken, expected);
  if (!proven.ok) return { kind: "invalid_proof", subject, cause: proven.cause };
  const { minted } = await deps.spends.uses(subject.sessionId, allow.actionId);
  if (minted) return { kind: "already_minted", subject };
  const judged = await judge(deps, standing, hop, allow.enforced);
  if (judged.verdict.outcome === "deny") {
    const denial = await recordDenial(deps, standing, allow, hop, judged, "mint");
    return denial === "stale" ? "stale" : { kind: "denied", subject, ...denial };
  }
  const outcome = await deps.spends.mint(
    {
      actionId: allow.actionId,
      sessionId: subject.sessionId,
      paramsHash: command.paramsHash,
      prover: proven.prover,
      mintedAtMs: deps.clock.nowMs(),
    },
    present.epochs,
  );
  if (outcome === "already_minted") return { kind: "already_minted", subject };
  if (outcome === "proof_used") return { kind: "invalid_proof", subject, cause: "invalid" };
  return outcome === "stale" ? "stale" : issue(deps, command, subject, allow);
}

async function issue(
  deps: HopDeps,
  command: MintCommand,
  subject: NarrowedClaims,
  allow: DecisionRecord,
): Promise<Minted> {
  const nowSeconds = Math.floor(deps.clock.nowMs() / 1000);
  const claims = transactionClaims(subject, command.paramsHash, { jti: deps.ids.next(), nowSeconds });
  return {
    kind: "minted",
    transactionToken: await issueTransactionToken(deps.issuerKeys.current().signingKey, claims),
    expiresInSeconds: claims.exp - nowSeconds,
    subject,
    allow,
  };
}
