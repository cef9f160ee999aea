import { setImmediate as nextTurn } from "node:timers/promises";
import { effectiveTaint, type HopRequest, lendersOf } from "@svc/core";
import { type HopClaims, siblingClaims } from "@svc/tokens";
import type { Prover } from "../../ports/spend-ledger.ts";
import type { HopDeps } from "../deps.ts";
import { proveActor, proversOf } from "./actor-proof.ts";
import {
  type AuthorizeCommand,
  type Authorized,
  acceptsTaint,
  callOf,
  type Decided,
  decidedAs,
  isAdmitted,
} from "./authorize.ts";
import { type Exchanged, type Issued, issue } from "./exchange.ts";
import { AuditUnavailable, type HopState, jtiHashOf, onHopState, toHopRequest } from "./hop-state.ts";
import { requireVerified, type VerifiedToken } from "./hop-tokens.ts";
import { type GuardEntry, guardEntry } from "./spend-token.ts";
import { commitDecision, type Judged, judge, recordOf } from "./verdict.ts";

export interface HopCommand extends AuthorizeCommand {
  /** False: the exchange follows unless the target takes calls under untrusted data, since more may be learnt before. */
  readonly bodySettled: boolean;
}

/** The tokens of a hop: for the target, and in place of the one that was spent. */
export interface HopTokens extends Issued {
  readonly sibling: { readonly token: string; readonly expiresInSeconds: number };
}

export type HopTaken =
  | Exclude<Authorized, Decided>
  /** The decision alone: a deny, or an allow that an exchange is to follow. */
  | Decided
  /** Decided, and the token was spent for it. */
  | { readonly kind: "spent"; readonly decided: Decided; readonly tokens: Promise<HopTokens> }
  /** Decided, and the token or its proof was used before. */
  | {
      readonly kind: "refused";
      readonly decided: Decided;
      readonly refusal:
        | Extract<Exchanged, { readonly kind: "invalid_grant" | "invalid_proof" }>
        /** The guard did not answer. */
        | { readonly kind: "unavailable"; readonly fault: unknown };
    };

/** What stays the same in every attempt, so that a later one meets the guard's entry of an earlier one. */
interface Taking {
  readonly command: HopCommand;
  readonly hop: HopRequest;
  readonly actionId: string;
  readonly siblingId: string;
  /** The guard's entry of an attempt that certainly spent nothing. */
  claimed: GuardEntry | undefined;
}

/**
 * Decides a hop and, if it is an allow that nothing can still change, spends the token with the same commit
 * (docs/reference/routes.md#hops). The record is that of `authorize` followed by `exchange`.
 * @throws {AuditUnavailable} or the store's fault if the decision could not be committed; no token was issued
 */
export async function takeHop(deps: HopDeps, command: HopCommand): Promise<HopTaken> {
  deps.requireAcknowledged();
  const subject = requireVerified(command.subject);
  if (subject.claims.sessionId !== command.sessionId) return { kind: "unauthorized" };
  const hop = toHopRequest(subject.claims, { ...command, declaredTaint: command.taint });
  const [actionId, siblingId] = [deps.ids.next(), deps.ids.next()];
  const taking: Taking = { command, hop, actionId, siblingId, claimed: undefined };
  try {
    return (await takeOnState(deps, taking, subject)) ?? { kind: "unauthorized" };
  } finally {
    await releaseUnspent(deps, taking);
  }
}

const takeOnState = (deps: HopDeps, taking: Taking, subject: VerifiedToken): Promise<HopTaken | undefined> =>
  onHopState<HopTaken>(deps, {
    subject,
    targetAgent: taking.hop.targetKind === "agent" ? taking.hop.target : undefined,
    lenders: (policy) => lendersOf(policy, taking.hop),
    confirmed: ["decided", "spent", "refused"],
    attempt: (state) => attempt(deps, taking, state),
    exhausted: () => new AuditUnavailable("the session changed during every attempt to record a decision"),
  });

/** Without an entry only this token stays unusable, until it expires. */
async function releaseUnspent({ guard }: HopDeps, { claimed }: Taking): Promise<void> {
  if (claimed !== undefined) await guard.release(claimed).catch(() => {});
}

async function attempt(deps: HopDeps, taking: Taking, state: HopState): Promise<HopTaken | "stale"> {
  const { command, hop } = taking;
  if (!isAdmitted(deps, command, state)) return { kind: "observe_not_admitted" };
  const expected = proversOf(state.policy, hop, state.session);
  const proven = await proveActor(deps, command.subject.token, command.actorToken, expected);
  // A decision needs no proof; its exchange asks for a missing one.
  if (!proven.ok && proven.cause !== "missing") return { kind: "invalid_proof", cause: proven.cause };
  const judged = await judge(deps, state, hop, command.enforced);
  return proven.ok && isSettled(command, judged)
    ? spend(deps, taking, state, judged, proven.prover)
    : decideAlone(deps, taking, state, judged);
}

/** An allow of a tool that needs no transaction token, sets no mark, and that nothing learnt later forbids. */
const isSettled = ({ bodySettled, targetKind }: HopCommand, { verdict, marking }: Judged): boolean =>
  verdict.outcome === "allow" &&
  targetKind === "tool" &&
  !verdict.facts.privileged &&
  marking.kind === "none" &&
  (bodySettled || acceptsTaint(verdict));

async function decideAlone(deps: HopDeps, { command, hop, actionId }: Taking, state: HopState, judged: Judged) {
  const call = callOf(state.claims, command.enforced);
  const recorded = await commitDecision(deps, state, hop, judged, call, actionId);
  return recorded === "stale" ? "stale" : decidedAs(recorded, state.claims, judged);
}

/**
 * The guard first, which is fast, then decision and spend in one statement. Where the guard refuses, nothing is spent.
 * The tokens are made while the database works, and told once it has committed.
 */
async function spend(
  deps: HopDeps,
  taking: Taking,
  state: HopState,
  judged: Judged,
  prover: Prover | undefined,
): Promise<HopTaken | "stale"> {
  const { command, actionId, siblingId } = taking;
  const { claims, session } = state;
  const { sessionId } = claims;
  const jtiHash = jtiHashOf(claims);
  const purpose = { kind: "exchange", actionId } as const;
  const entry = guardEntry(deps, claims, jtiHash, purpose);
  const refused = await claim(deps, entry, claims);
  if (refused !== undefined) {
    const decided = await decideAlone(deps, taking, state, judged);
    return decided === "stale" ? "stale" : { kind: "refused", decided, refusal: refused };
  }
  // Until the statement answers: an unknown commit keeps the entry.
  taking.claimed = undefined;
  const record = recordOf(deps, state, taking.hop, judged, callOf(claims, command.enforced), actionId);
  const siblingJtiHash = jtiHashOf({ jti: siblingId });
  const spent = { ...purpose, jtiHash, siblingJtiHash, sessionId, prover, spentAtMs: deps.clock.nowMs() };
  const committing = deps.hops.take(record, spent, session.epochs);
  const decided = decidedAs({ record, marks: 0 }, claims, judged);
  const tokens = onceSent(() => tokensOf(deps, taking, state, decided, judged));
  // A fault is the awaiting caller's, if there is one.
  tokens.catch(() => {});
  const outcome = await committing;
  const isTokenUsed = outcome.kind === "spent" || (outcome.kind === "recorded" && outcome.used === "token");
  if (!isTokenUsed) taking.claimed = entry;
  if (outcome.kind === "stale") return "stale";
  return outcome.kind === "spent"
    ? { kind: "spent", decided, tokens }
    : { kind: "refused", decided, refusal: refusalOf(outcome.used, claims) };
}

/** The group commits in the next turn of the event loop, and the driver sends a short statement in the turn after. */
async function onceSent<T>(work: () => Promise<T>): Promise<T> {
  await nextTurn();
  await nextTurn();
  return work();
}

type Refusal = Extract<HopTaken, { readonly kind: "refused" }>["refusal"];

/** Undefined: claimed for this action, perhaps by an earlier attempt. */
async function claim(deps: HopDeps, entry: GuardEntry, subject: HopClaims): Promise<Refusal | undefined> {
  try {
    const outcome = await deps.guard.claim(entry);
    return outcome === "other_action" ? { kind: "invalid_grant", subject, replayed: true } : undefined;
  } catch (fault) {
    return { kind: "unavailable", fault };
  }
}

const refusalOf = (used: "token" | "proof" | "none", subject: HopClaims): Refusal =>
  used === "proof"
    ? { kind: "invalid_proof", subject, cause: "invalid" }
    : { kind: "invalid_grant", subject, replayed: used === "token" };

async function tokensOf(
  deps: HopDeps,
  { hop, siblingId }: Taking,
  state: HopState,
  { record }: Decided,
  judged: Judged,
): Promise<HopTokens> {
  const issued = await issue(deps, state, record, hop, judged, 0);
  const sibling = siblingOf(deps, state, hop, siblingId);
  const expiresInSeconds = sibling.exp - sibling.iat;
  return { ...issued, sibling: { token: await deps.signer.sibling(sibling), expiresInSeconds } };
}

/** At the same place in the chain: what this call declared is not its holder's. */
function siblingOf(deps: HopDeps, { claims, session }: HopState, hop: HopRequest, jti: string): HopClaims {
  const { taint } = effectiveTaint({ ...hop, declaredTaint: undefined }, session.marks.enforced);
  const sessionExpiresAtSeconds = session.facts.expiresAtMs / 1000;
  return siblingClaims(claims, taint, { jti, nowSeconds: deps.clock.nowMs() / 1000, sessionExpiresAtSeconds });
}
