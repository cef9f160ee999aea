import {
  type DecisionRecord,
  type HopRequest,
  type PopFailureCause,
  type Taint,
  type TargetKind,
  toDecisionRecord,
} from "@svc/core";
import { callerOfToken, type HopClaims } from "@svc/tokens";
import { proveActor, proversOf } from "./actor-proof.ts";
import type { HopDeps } from "./hop-deps.ts";
import { AuditUnavailable } from "./hop-faults.ts";
import { maxAttempts, readStanding, recallStanding, type Standing, toHopRequest, verifySubject } from "./standing.ts";
import { judge } from "./verdict.ts";

export interface AuthorizeCommand {
  /** The bearer: the current-hop token. */
  readonly token: string;
  readonly sessionId: string;
  readonly target: string;
  readonly targetKind: TargetKind;
  readonly dataClass: string;
  readonly taint: Taint | undefined;
  readonly enforced: boolean;
  readonly actorToken: string | undefined;
}

/** A committed decision, allow and deny alike. */
export interface Decided {
  readonly kind: "decided";
  readonly record: DecisionRecord;
  readonly marks: number;
  readonly claims: HopClaims;
  readonly consentableScopes: readonly string[];
  /** The pinned policy declares the data class, so telemetry may name it. */
  readonly dataClassDeclared: boolean;
}

export type Authorized =
  | Decided
  | { readonly kind: "unauthorized" }
  | { readonly kind: "observe_not_admitted" }
  | { readonly kind: "invalid_proof"; readonly cause: PopFailureCause };

/**
 * Decides a hop and commits the decision before it is told (contract: Hop endpoints, `POST /v1/authorize`).
 * @throws {AuditUnavailable} where it could not be committed.
 */
export async function authorize(deps: HopDeps, command: AuthorizeCommand): Promise<Authorized> {
  deps.requireAcknowledged();
  const claims = await verifySubject(deps, command.token);
  // A tool's token is for that resource server and for the mint alone.
  if (claims === undefined || claims.targetKind === "tool" || claims.sessionId !== command.sessionId) {
    return { kind: "unauthorized" };
  }
  const hop = toHopRequest(claims, { ...command, declaredTaint: command.taint });
  const targetAgent = command.targetKind === "agent" ? command.target : undefined;
  const recalled = await recallStanding(deps, claims, targetAgent);
  if (recalled !== undefined) {
    const decided = await attemptDecision(deps, command, recalled, hop);
    if (decided !== "stale" && decided.kind === "decided") return decided;
  }
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const standing = await readStanding(deps, command.token, claims, targetAgent);
    if (standing === undefined) return { kind: "unauthorized" };
    const decided = await attemptDecision(deps, command, standing, hop);
    if (decided !== "stale") return decided;
  }
  throw new AuditUnavailable("the session changed with every attempt to record a decision on it");
}

const attemptDecision = async (
  deps: HopDeps,
  command: AuthorizeCommand,
  standing: Standing,
  hop: HopRequest,
): Promise<Authorized | "stale"> =>
  (await refuse(deps, command, standing, hop)) ?? (await decideAndCommit(deps, command, standing, hop));

async function refuse(deps: HopDeps, command: AuthorizeCommand, { policy }: Standing, hop: HopRequest) {
  if (!command.enforced && !deps.hopSettings.mayObserve(policy.scope)) return { kind: "observe_not_admitted" } as const;
  if (command.actorToken === undefined) return undefined;
  const expected = proversOf(policy, hop.chain, { name: command.target, kind: command.targetKind });
  const proven = await proveActor(deps, command.token, command.actorToken, expected);
  return proven.ok ? undefined : ({ kind: "invalid_proof", cause: proven.cause } as const);
}

async function decideAndCommit(
  deps: HopDeps,
  command: AuthorizeCommand,
  standing: Standing,
  hop: HopRequest,
): Promise<Decided | "stale"> {
  const { claims, policy, present } = standing;
  const { verdict, marking, present: recorded } = await judge(deps, standing, hop, command.enforced);
  const record = toDecisionRecord(hop, verdict, {
    actionId: deps.ids.next(),
    sessionId: claims.sessionId,
    stage: "authorize",
    actingAgent: callerOfToken(claims),
    enforced: command.enforced,
    policyVersion: policy.version,
    parentActionId: claims.actionId,
    decidedAtMs: deps.clock.nowMs(),
    present: recorded,
  });
  const outcome = await deps.decisions.append(record, marking, present.epochs);
  if (outcome === "stale") return "stale";
  return {
    kind: "decided",
    record,
    marks: outcome.marks,
    claims,
    consentableScopes: verdict.outcome === "deny" ? verdict.consentableScopes : [],
    dataClassDeclared: declaresClass(policy.policy.document.data_classes, record.dataClass),
  };
}

const declaresClass = (declared: { reads: readonly string[]; writes: readonly string[] }, name: string): boolean =>
  declared.reads.includes(name) || declared.writes.includes(name);
