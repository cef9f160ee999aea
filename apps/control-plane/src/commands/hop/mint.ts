import { type DecisionRecord, type HopRequest, type PopFailureCause, splitDataClasses } from "@svc/core";
import { type HopClaims, isNarrowed, type NarrowedClaims, transactionClaims } from "@svc/tokens";
import type { HopDeps } from "../deps.ts";
import { isUuid } from "../identifier.ts";
import { proveActor, proversOf } from "./actor-proof.ts";
import { type HopState, onHopState, SpendUnavailable, withLenders } from "./hop-state.ts";
import { requireVerified, type SubjectToken } from "./hop-tokens.ts";
import { commitDecision, judge, type Recorded } from "./verdict.ts";

export interface MintCommand {
  /** The narrowed token of the exchange. */
  readonly subject: SubjectToken;
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
  | {
      readonly kind: "action_not_found" | "transaction_not_required" | "already_minted";
      readonly subject: HopClaims;
    }
  | { readonly kind: "invalid_proof"; readonly subject: HopClaims; readonly cause: PopFailureCause }
  | ({ readonly kind: "denied"; readonly subject: HopClaims } & Recorded);

/**
 * Binds a privileged call to its parameters, once (docs/reference/routes.md#minting). It decides
 * the hop again in full.
 * @throws {SpendUnavailable} if the mint could not be recorded; no token was issued.
 */
export async function mint(deps: HopDeps, command: MintCommand): Promise<Minted> {
  deps.requireAcknowledged();
  const subject = requireVerified(command.subject);
  const { claims } = subject;
  if (!isNarrowed(claims)) return { kind: "unauthorized" };
  const minted = await onHopState<Minted>(deps, {
    subject,
    // Never on cached state: a token of a removed key must learn nothing of its action.
    confirmed: [],
    attempt: (state) => attemptMint(deps, command, claims, state),
    exhausted: () => new SpendUnavailable("the session changed during every attempt to mint"),
  });
  return minted ?? { kind: "unauthorized" };
}

/** The hop as it was authorized: one before the narrowed token's, with the data classes of its subject token. */
async function recordedHop(deps: HopDeps, subject: HopClaims, allow: DecisionRecord): Promise<HopRequest> {
  const parent = allow.parentActionId === null ? undefined : await deps.decisionLog.find(allow.parentActionId);
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
  subject: NarrowedClaims,
  loaded: HopState,
): Promise<Minted | "stale"> {
  const { actionId, paramsHash } = command;
  const { sessionId } = subject;
  const allow = isUuid(actionId) && subject.actionId === actionId ? await deps.decisionLog.find(actionId) : undefined;
  if (allow?.decision !== "allow") return { kind: "action_not_found", subject };
  if (!subject.privileged) return { kind: "transaction_not_required", subject };
  const hop = await recordedHop(deps, subject, allow);
  const state = await withLenders(deps, loaded, hop);
  if (state === "stale") return "stale";
  const expected = proversOf(state.policy, hop, state.session);
  const proven = await proveActor(deps, command.subject.token, command.actorToken, expected);
  if (!proven.ok) return { kind: "invalid_proof", subject, cause: proven.cause };
  const { minted } = await deps.spends.uses(sessionId, actionId);
  if (minted) return { kind: "already_minted", subject };
  const judged = await judge(deps, state, hop, allow.enforced);
  if (judged.verdict.outcome === "deny") {
    const denial = await commitDecision(deps, state, hop, judged, { ...allow, stage: "mint" });
    return denial === "stale" ? "stale" : { kind: "denied", subject, ...denial };
  }
  const mintedAtMs = deps.clock.nowMs();
  const outcome = await deps.spends.mint(
    { actionId, sessionId, paramsHash, prover: proven.prover, mintedAtMs },
    state.session.epochs,
  );
  switch (outcome) {
    case "minted":
      return issue(deps, command, subject, allow);
    case "stale":
      return "stale";
    case "proof_used":
      return { kind: "invalid_proof", subject, cause: "invalid" };
    case "already_minted":
      return { kind: "already_minted", subject };
  }
}

async function issue(
  deps: HopDeps,
  { paramsHash }: MintCommand,
  subject: NarrowedClaims,
  allow: DecisionRecord,
): Promise<Minted> {
  const nowSeconds = Math.floor(deps.clock.nowMs() / 1000);
  const claims = transactionClaims(subject, paramsHash, { jti: deps.ids.next(), nowSeconds });
  const transactionToken = await deps.signer.transactionToken(claims);
  return { kind: "minted", transactionToken, expiresInSeconds: claims.exp - nowSeconds, subject, allow };
}
