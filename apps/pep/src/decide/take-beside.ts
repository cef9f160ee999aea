import type { DenyReason } from "@svc/core";
import type { HopCredential, HopResult } from "@svc/hop";
import type { CallTarget } from "../protocols/protocol.ts";
import type { SessionsBeside } from "./sessions-beside.ts";

export interface Attempt<Refusal> {
  readonly under: HopCredential;
  readonly result: HopResult<Refusal>;
}

export interface TakeBeside<Attempted> {
  readonly beside: SessionsBeside | undefined;
  readonly caller: HopCredential;
  readonly call: CallTarget;
  readonly isAwaited: boolean;
  readonly signal: AbortSignal;
  readonly take: (under: HopCredential) => Promise<Attempted>;
}

/**
 * Takes the hop in the session that the same call was allowed in before, else in the call's own, else, where that one lacks
 * the scope, in one beside it (docs/reference/enforcement-point.md#sessions-beside).
 */
export async function takeInSomeSession<Attempted extends Attempt<unknown>>(
  request: TakeBeside<Attempted>,
): Promise<Attempted> {
  const { beside, caller, call, isAwaited, signal, take } = request;
  if (!beside) return take(caller);
  const remembered = beside.of(caller, call);
  const before = remembered && (await take(remembered));
  if (before && !isRefused(before)) return before;
  if (before) beside.leave(caller, call, before.under, isOver(before));

  const own = await take(caller);
  const scopes = lackedScopes(own);
  if (scopes.length === 0) return own;
  const found = await beside.find(caller, { scopes, except: remembered, isAwaited, signal });
  if (!found) return before && !isOver(before) ? before : own;

  const second = await take(found);
  if (!isRefused(second)) {
    beside.remember(caller, call, found);
    return second;
  }
  beside.leave(caller, call, found, isOver(second));
  // What it denies for is what the call lacks now: its scope was consented to.
  return isOver(second) ? own : second;
}

type Any = Attempt<unknown>;

const isRefused = ({ result: { kind } }: Any): boolean => kind === "denied" || kind === "unauthorized";

export const sessionEnds: readonly unknown[] = ["SESSION_EXPIRED", "SESSION_REVOKED"] satisfies DenyReason[];

const isOver = ({ result }: Any): boolean =>
  result.kind === "unauthorized" || (result.kind === "denied" && sessionEnds.includes(result.decision.denyReason));

/** Scopes of which a consent would admit the call. */
function lackedScopes({ result }: Any): readonly string[] {
  if (result.kind !== "denied" || result.decision.denyReason !== "SCOPE_NOT_CONSENTED") return [];
  return result.decision.consentableScopes;
}
