import { type DenyReason, type DiffEntry, diffEntry, explainedAt, remedyOfDeny, type Taint } from "@svc/core";
import type { ErrorResponse, PoolFault, Unusable, UnusableFault } from "@svc/hop";

/** The facts of a deny (docs/reference/client.md#exceptions). */
export type DenyFacts = Omit<PolicyDenied, keyof Error | "remedy" | "link">;

/** The call was denied: it was not sent. The message has target, reason, remedy and link, for a person or a model. */
export class PolicyDenied extends Error {
  override readonly name = "PolicyDenied";
  declare readonly reason: DenyReason;
  /** True only for `SCOPE_NOT_CONSENTED`: consent to another scope could admit the call. */
  declare readonly recoverable: boolean;
  /** The scopes whose consent would admit it; empty unless `recoverable`. */
  declare readonly consentableScopes: readonly string[];
  declare readonly target: string;
  declare readonly dataClass: string;
  declare readonly hop: number;
  declare readonly sessionId: string;
  /** Names the record: pass it to `audit.chain`. */
  declare readonly actionId: string | null;
  declare readonly taint: Taint;
  /** The target whose results were untrusted, or `declared` by a caller. */
  declare readonly taintSource: string | null;
  declare readonly policyVersion: number | null;
  /** What would admit the call. */
  readonly remedy: string;
  /** The page about the reason. */
  readonly link: string;

  constructor(facts: DenyFacts) {
    const { target, hop, reason, actionId } = facts;
    const [remedy, link] = [remedyOfDeny(facts), explainedAt(reason)];
    super(`${target} denied at hop ${hop}: ${reason} (decision ${actionId ?? "not named"}); ${remedy}; see ${link}`);
    Object.assign(this, facts);
    this.remedy = remedy;
    this.link = link;
  }
}

/** The request that failed; the path without its query. */
export interface RequestLine {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
}

/** Why there is no usable response: a fault of the connection or response, no committed record, no free token pool. */
export type UnavailableFault = UnusableFault | Exclude<PoolFault, "closed"> | "audit_unavailable";

/** The control plane could not be reached, or its response is not safe to use. The call was not sent; retry it. */
export class ControlPlaneUnavailable extends Error implements RequestLine {
  override readonly name = "ControlPlaneUnavailable";
  readonly fault: UnavailableFault;
  readonly method: RequestLine["method"];
  readonly path: string;
  /** The HTTP status of the response; null where there was none. */
  readonly status: number | null;
  /** `error.code` of the response; null where it had none. */
  readonly code: string | null;
  /** `error.message` of the response; null where it had none. */
  readonly reason: string | null;
  readonly details: Readonly<Record<string, unknown>>;
  /** Seconds to wait before a retry, by the response's `Retry-After` (429, 503); null where it had none. */
  readonly retryAfterSeconds: number | null;

  constructor(request: RequestLine, fault: UnavailableFault, response?: ErrorResponse, cause?: unknown) {
    const status = response ? `: ${response.status}${response.code === undefined ? "" : ` ${response.code}`}` : "";
    super(
      `control plane unavailable (${fault}) at ${request.method} ${request.path}${status}`,
      cause === undefined ? undefined : { cause },
    );
    this.fault = fault;
    this.method = request.method;
    this.path = request.path;
    this.status = response?.status ?? null;
    this.code = response?.code ?? null;
    this.reason = response?.message ?? null;
    this.details = response?.details ?? {};
    this.retryAfterSeconds = secondsOf(response?.retryAfter);
  }
}

/** `Retry-After` is a number of seconds or a date, which counts from now (RFC 9110 section 10.2.3). */
function secondsOf(retryAfter = ""): number | null {
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter);
  const seconds = Math.ceil((Date.parse(retryAfter) - Date.now()) / 1000);
  return Number.isNaN(seconds) ? null : Math.max(0, seconds);
}

/** The control plane refused the request; unchanged, it will be refused again. */
export class ControlPlaneRejected extends Error implements RequestLine {
  override readonly name: string = "ControlPlaneRejected";
  readonly status: number;
  /** `error.code` of the response. */
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly method: RequestLine["method"];
  readonly path: string;

  constructor(request: RequestLine, { status, code = "unauthorized", message = code, details = {} }: ErrorResponse) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
    this.method = request.method;
    this.path = request.path;
  }
}

/** A manifest was refused: 422, it exceeds what was discovered; 409 `needs_review`, nothing could be discovered. */
export class ManifestRejected extends ControlPlaneRejected {
  override readonly name = "ManifestRejected";
  /** One entry for each tool reference. */
  readonly diff: readonly DiffEntry[];
  /** True for 409: with `overrideReason` the manifest is accepted and attested. */
  readonly needsReview: boolean;

  constructor(request: RequestLine, response: ErrorResponse, diff: readonly DiffEntry[]) {
    super(request, response);
    this.diff = diff;
    this.needsReview = response.status === 409;
  }

  /** One line per entry: the tool reference and its remedy. */
  remedies(): readonly string[] {
    return this.diff.map(({ ref, remedy }) => `${ref}: ${remedy}`);
  }
}

/** A privileged call has no `params` to bind. Nothing was spent: call again with them. */
export class TransactionParamsRequired extends Error {
  override readonly name = "TransactionParamsRequired";
  readonly target: string;
  /** The recorded allow, which stays unspent. */
  readonly actionId: string;

  constructor(target: string, actionId: string) {
    super(`${target} is privileged: pass the call's params`);
    this.target = target;
    this.actionId = actionId;
  }
}

/** Whether a response is a rejection, and not an outage (docs/reference/client.md#exceptions). */
export type IsRejection = (response: ErrorResponse) => boolean;

/** Consent's own rule. */
export const isUnauthorized: IsRejection = ({ status }) => status === 401;

/** The control plane's own 4xx, and any 401: a wrong bearer is no outage. Not a 429: the same request passes later. */
const isRefusal: IsRejection = (response) => {
  const { status, code } = response;
  return isUnauthorized(response) || (status >= 400 && status < 500 && status !== 429 && code !== undefined);
};

type Unavailable = Pick<Unusable, "response" | "cause"> & { readonly fault: UnavailableFault };

/** Returns what to throw for an unusable response: after an abort the signal's own reason. */
export function errorOf(
  request: RequestLine,
  { fault, response, cause }: Unavailable,
  signal?: AbortSignal,
  isRejection = isRefusal,
): unknown {
  if (fault === "aborted" && signal?.aborted) return signal.reason;
  if (response && isRejection(response)) return rejection(request, response);
  return new ControlPlaneUnavailable(request, fault, response, cause);
}

const manifestCodes: readonly unknown[] = ["reconciliation_rejected", "needs_review"];

export const rejection = (request: RequestLine, response: ErrorResponse): ControlPlaneRejected =>
  manifestCodes.includes(response.code)
    ? new ManifestRejected(request, response, diffEntry.array().safeParse(response.details?.diff).data ?? [])
    : new ControlPlaneRejected(request, response);
