import { type authorizeRequest, type HopRequest, lendersOf, type PopFailureCause, type Verdict } from "@svc/core";
import { callerOfToken, type HopClaims } from "@svc/tokens";
import type { BodyOf, HopDeps } from "../deps.ts";
import { proveActor, proversOf } from "./actor-proof.ts";
import { AuditUnavailable, type HopState, onHopState, toHopRequest } from "./hop-state.ts";
import { requireVerified, type SubjectToken } from "./hop-tokens.ts";
import { type CallFacts, commitDecision, type Judged, judge, type Recorded } from "./verdict.ts";

export interface AuthorizeCommand extends BodyOf<typeof authorizeRequest> {
  /** A current-hop token. */
  readonly subject: SubjectToken;
}

/** A committed decision, allow or deny. */
export interface Decided extends Recorded {
  readonly kind: "decided";
  readonly subject: HopClaims;
  readonly consentableScopes: readonly string[];
  /** Of the tool that is allowed: nothing learnt later forbids the call. An agent's token says what it was tainted by. */
  readonly acceptsTaint: boolean;
}

export type Authorized =
  | Decided
  | { readonly kind: "unauthorized" | "observe_not_admitted" }
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
    lenders: (policy) => lendersOf(policy, hop),
    confirmed: ["decided"],
    attempt: async (state) => (await refuse(deps, command, state, hop)) ?? decideAlone(deps, command, state, hop),
    exhausted: () => new AuditUnavailable("the session changed during every attempt to record a decision"),
  });
  return authorized ?? { kind: "unauthorized" };
}

async function refuse(deps: HopDeps, command: AuthorizeCommand, state: HopState, hop: HopRequest) {
  const { policy, session } = state;
  if (!isAdmitted(deps, command, state)) return { kind: "observe_not_admitted" } as const;
  if (command.actorToken === undefined) return undefined;
  const expected = proversOf(policy, hop, session);
  const proven = await proveActor(deps, command.subject.token, command.actorToken, expected);
  return proven.ok ? undefined : ({ kind: "invalid_proof", cause: proven.cause } as const);
}

/** Only the scopes that the settings name may be observed. */
export const isAdmitted = (
  { hopSettings }: HopDeps,
  { enforced }: Pick<AuthorizeCommand, "enforced">,
  { policy }: HopState,
): boolean => enforced || hopSettings.mayObserve(policy.scope);

async function decideAlone(
  deps: HopDeps,
  { enforced }: AuthorizeCommand,
  state: HopState,
  hop: HopRequest,
): Promise<Decided | "stale"> {
  const judged = await judge(deps, state, hop, enforced);
  const recorded = await commitDecision(deps, state, hop, judged, callOf(state.claims, enforced));
  return recorded === "stale" ? "stale" : decidedAs(recorded, state.claims, judged);
}

export const callOf = (subject: HopClaims, enforced: boolean): CallFacts => ({
  stage: "authorize",
  sessionId: subject.sessionId,
  actingAgent: callerOfToken(subject),
  enforced,
  parentActionId: subject.actionId,
});

export const decidedAs = (recorded: Recorded, subject: HopClaims, { verdict }: Judged): Decided => ({
  kind: "decided",
  ...recorded,
  subject,
  consentableScopes: verdict.outcome === "deny" ? verdict.consentableScopes : [],
  acceptsTaint: acceptsTaint(verdict),
});

export const acceptsTaint = (verdict: Verdict): boolean =>
  verdict.outcome === "allow" && verdict.facts.tool?.acceptsTaint === true;
