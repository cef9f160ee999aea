import {
  type DecisionRecord,
  type HopRequest,
  type PopFailureCause,
  type Taint,
  type TargetKind,
  toDecisionRecord,
} from "@svc/core";
import { callerOfToken, type HopClaims } from "@svc/tokens";
import type { HopDeps } from "../deps.ts";
import { proveActor, proversOf } from "./actor-proof.ts";
import { AuditUnavailable } from "./hop-faults.ts";
import { toHopRequest } from "./hop-request.ts";
import { type HopState, onHopState } from "./hop-state.ts";
import { requireVerified, type SubjectToken } from "./subject-token.ts";
import { judge } from "./verdict.ts";

export interface AuthorizeCommand {
  /** A current-hop token. */
  readonly subject: SubjectToken;
  readonly sessionId: string;
  readonly target: string;
  readonly targetKind: TargetKind;
  readonly dataClass: string;
  readonly taint?: Taint | undefined;
  readonly enforced: boolean;
  readonly actorToken?: string | undefined;
}

/** A committed decision, allow or deny. */
export interface Decided {
  readonly kind: "decided";
  readonly record: DecisionRecord;
  /** How many marks were set. */
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
 * Decides a hop and commits the decision before it returns it (docs/reference/routes.md#authorize).
 * @throws {AuditUnavailable} if the decision could not be committed.
 */
export async function authorize(deps: HopDeps, command: AuthorizeCommand): Promise<Authorized> {
  deps.requireAcknowledged();
  const subject = requireVerified(command.subject);
  if (subject.claims.sessionId !== command.sessionId) return { kind: "unauthorized" };
  const hop = toHopRequest(subject.claims, { ...command, declaredTaint: command.taint });
  const authorized = await onHopState<Authorized>(deps, {
    subject,
    targetAgent: command.targetKind === "agent" ? command.target : undefined,
    confirmed: ["decided"],
    attempt: async (state) =>
      (await refuse(deps, command, state, hop)) ?? (await decideAndCommit(deps, command, state, hop)),
    exhausted: () => new AuditUnavailable("the session changed during every attempt to record a decision"),
  });
  return authorized ?? { kind: "unauthorized" };
}

async function refuse(deps: HopDeps, command: AuthorizeCommand, { policy }: HopState, hop: HopRequest) {
  if (!command.enforced && !deps.hopSettings.mayObserve(policy.scope)) return { kind: "observe_not_admitted" } as const;
  if (command.actorToken === undefined) return undefined;
  const expected = proversOf(policy, hop.chain, { name: command.target, kind: command.targetKind });
  const proven = await proveActor(deps, command.subject.token, command.actorToken, expected);
  return proven.ok ? undefined : ({ kind: "invalid_proof", cause: proven.cause } as const);
}

async function decideAndCommit(
  deps: HopDeps,
  { enforced }: AuthorizeCommand,
  state: HopState,
  hop: HopRequest,
): Promise<Decided | "stale"> {
  const { claims, policy, session } = state;
  const { verdict, marking, present } = await judge(deps, state, hop, enforced);
  const record = toDecisionRecord(hop, verdict, {
    actionId: deps.ids.next(),
    sessionId: claims.sessionId,
    stage: "authorize",
    actingAgent: callerOfToken(claims),
    enforced,
    policyVersion: policy.version,
    parentActionId: claims.actionId,
    decidedAtMs: deps.clock.nowMs(),
    present,
  });
  const outcome = await deps.decisionLog.append(record, marking, session.epochs);
  if (outcome === "stale") return "stale";
  const { reads, writes } = policy.policy.document.data_classes;
  return {
    kind: "decided",
    record,
    marks: outcome.marks,
    claims,
    consentableScopes: verdict.outcome === "deny" ? verdict.consentableScopes : [],
    dataClassDeclared: reads.includes(record.dataClass) || writes.includes(record.dataClass),
  };
}
