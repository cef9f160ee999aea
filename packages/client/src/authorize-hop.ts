import { highestTaint, splitDataClasses, type Taint, type TargetKind } from "@svc/core";
import type { TraceRecorder } from "@svc/drift/recorder";
import {
  type Allowed,
  type ErrorResponse,
  type Hop,
  type HopFailure,
  type HopPorts,
  type RecordedDeny,
  type SettledBody,
  takeHop,
} from "@svc/hop";
import { decodeUnverifiedHopToken, isNarrowed } from "@svc/tokens";
import { LRUCache } from "lru-cache";
import type { Params } from "./authorized-request.ts";
import type { DataClass } from "./data-class.ts";
import {
  ControlPlaneUnavailable,
  errorOf,
  PolicyDenied,
  type RequestLine,
  rejection,
  TransactionParamsRequired,
} from "./errors.ts";
import { type Grant, type HopContext, toGrant } from "./hop-context.ts";

/** One hop. */
export interface AuthorizeRequest {
  /** A tool reference, or an agent's name. */
  readonly target: string;
  readonly targetKind: TargetKind;
  /** One data class; for an agent several, space-separated. A function gives it by `params`. */
  readonly dataClass: DataClass;
  /** Raises the effective taint of the decision, never lowers it. */
  readonly taint?: Taint | undefined;
  /** The call's JSON body: required for a privileged target, otherwise ignored. */
  readonly params?: Params | undefined;
}

/** A hop whose data class is known. */
export type HopRequest = AuthorizeRequest & { readonly dataClass: string };

export interface AuthorizePorts {
  readonly hop: HopPorts;
  readonly recordEdge: RecordEdge | undefined;
}

/**
 * Takes one hop (docs/reference/client.md#behaviour).
 * @param paramsJson called for a privileged target, before anything is spent; an error ends the hop
 * @throws for every outcome but a grant, so that no caller continues with a token that was not narrowed
 */
export async function authorizeHop(
  { hop: ports, recordEdge }: AuthorizePorts,
  context: HopContext,
  { target, targetKind, dataClass, taint }: HopRequest,
  paramsJson: (() => string) | undefined,
  signal: AbortSignal | undefined,
): Promise<Grant> {
  signal?.throwIfAborted();
  const call = { target, targetKind, dataClass, ...(taint && { taint }) };
  const hop = { credential: context, call, enforced: true, bodySettled: true, ...(signal && { signal }) };
  let decision: Allowed | RecordedDeny | undefined;
  try {
    const result = await takeHop(ports, hop, async (allowed) => {
      decision = allowed;
      return bindableBody(allowed, paramsJson);
    });
    if (result.kind === "taken") return toGrant(context.sessionId, result);
    if (result.kind === "body_refused") throw result.refusal;
    if (result.kind === "denied") decision = result.decision;
    throw hopErrorOf(result, context.sessionId, signal);
  } finally {
    recordEdge?.(context, call, decision);
  }
}

function bindableBody(decision: Allowed, paramsJson: (() => string) | undefined): SettledBody<unknown> {
  if (!decision.transactionRequired) return { kind: "ready" };
  try {
    if (!paramsJson) throw new TransactionParamsRequired(decision.target, decision.actionId);
    return { kind: "ready", paramsJson: paramsJson() };
  } catch (refusal) {
    return { kind: "refused", refusal };
  }
}

const requests = {
  lease: { method: "POST", path: "/v1/token/renew" },
  decide: { method: "POST", path: "/v1/authorize" },
  exchange: { method: "POST", path: "/v1/token/exchange" },
  mint: { method: "POST", path: "/v1/token/transaction" },
} as const satisfies Record<HopFailure["step"], RequestLine>;

/** A pool that knows the token to be spent sends no request, so there is no response. */
const spentOrRefused: ErrorResponse = {
  status: 401,
  code: "unauthorized",
  message: "The context's token is spent, expired or refused.",
};

function hopErrorOf(failure: HopFailure, sessionId: string, signal: AbortSignal | undefined): unknown {
  const request = requests[failure.step];
  const { response = spentOrRefused } = failure;
  switch (failure.kind) {
    case "denied":
      return policyDenied(failure.decision, sessionId) ?? rejection(request, response);
    case "unauthorized":
      return rejection(request, response);
    case "audit_unavailable":
      return new ControlPlaneUnavailable(request, failure.kind, response);
    case "unusable": {
      const { fault } = failure;
      return fault === "closed"
        ? new TypeError("the client is closed")
        : errorOf({ ...request, path: failure.path ?? request.path }, { ...failure, fault }, signal);
    }
    default:
      return failure satisfies never;
  }
}

/** Undefined for a deny without a reason, which no control plane of this version sends. */
function policyDenied({ denyReason: reason, ...deny }: RecordedDeny, sessionId: string): PolicyDenied | undefined {
  const { recoverable, consentableScopes, target, dataClass, hop, actionId, policyVersion, taint, taintSource } = deny;
  if (reason === null) return undefined;
  const facts = { recoverable, consentableScopes, target, dataClass, hop, actionId, policyVersion, taint, taintSource };
  return new PolicyDenied({ reason, sessionId, ...facts });
}

/** Records one edge for an authorize call; `decision` is undefined where there was none to act on. */
type RecordEdge = (context: HopContext, call: Hop["call"], decision: Allowed | RecordedDeny | undefined) => void;

/** Sessions whose scope is cached. */
const maxSessions = 10_000;

/**
 * Only a session's hop-1 token names the consented scope, so it is kept by session.
 * @param scope of sessions of which this process saw no hop-1 token
 */
export function edgeRecorder(recorder: TraceRecorder, scope: string | undefined): RecordEdge {
  const scopes = new LRUCache<string, string>({ max: maxSessions });
  return (context, { target, targetKind, dataClass, taint }, decision) => {
    const claims = decodeUnverifiedHopToken(context.token);
    if (claims && !isNarrowed(claims) && !scopes.has(context.sessionId)) scopes.set(context.sessionId, claims.scope);
    recorder.record({
      scope: scopes.get(context.sessionId) ?? scope ?? null,
      chain: context.actChain.slice(1),
      caller: context.caller,
      target,
      targetKind,
      dataClass,
      ...(claims && { narrowedTo: isNarrowed(claims) ? splitDataClasses(claims.scope) : null }),
      hop: context.hop,
      taint: decision?.taint ?? highest(claims?.taint, taint),
      outcome: decision?.outcome ?? "undecided",
    });
  };
}

const highest = (one: Taint = "trusted_internal", other: Taint = "trusted_internal"): Taint => highestTaint(one, other);
