import type { DenyReason, DiffEntry, Taint } from "@svc/core";
import type { ErrorResponse, PoolFault, UnusableFault } from "@svc/hop";

/** What a deny tells of itself (specification: Client exceptions). */
export interface DenyFacts {
  readonly reason: DenyReason;
  /** True only for `SCOPE_NOT_CONSENTED`: the human's consent to another scope could admit the call. */
  readonly recoverable: boolean;
  /** The scopes whose consent would admit it; empty unless `recoverable`. */
  readonly consentableScopes: readonly string[];
  readonly target: string;
  readonly hop: number;
  readonly sessionId: string;
  /** Names the record: pass it to `audit.chain`. */
  readonly actionId: string | null;
  readonly taint: Taint;
  /** The target whose results were untrusted, or `declared`. */
  readonly taintSource: string | null;
  readonly policyVersion: number | null;
}

/** The decision was a deny. It is raised, never returned, and nothing was called. */
export class PolicyDenied extends Error implements DenyFacts {
  override readonly name = "PolicyDenied";
  readonly reason: DenyReason;
  readonly recoverable: boolean;
  readonly consentableScopes: readonly string[];
  readonly target: string;
  readonly hop: number;
  readonly sessionId: string;
  readonly actionId: string | null;
  readonly taint: Taint;
  readonly taintSource: string | null;
  readonly policyVersion: number | null;

  constructor(facts: DenyFacts) {
    super(`${facts.target} denied at hop ${facts.hop}: ${facts.reason}`);
    this.reason = facts.reason;
    this.recoverable = facts.recoverable;
    this.consentableScopes = facts.consentableScopes;
    this.target = facts.target;
    this.hop = facts.hop;
    this.sessionId = facts.sessionId;
    this.actionId = facts.actionId;
    this.taint = facts.taint;
    this.taintSource = facts.taintSource;
    this.policyVersion = facts.policyVersion;
  }
}

/** Which request went wrong; the path without its query. */
export interface Asked {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
}

/**
 * Why the control plane was of no use: a fault of the way to it or of its answer, a decision without a committed
 * record, or every renewal pool in use.
 */
export type UnavailableFault = UnusableFault | Exclude<PoolFault, "closed"> | "audit_unavailable";

/**
 * The control plane could not be reached, or nothing safe can be made of its response. Fatal to the hop: no path goes on
 * with a token that was not narrowed. A retry is reasonable.
 */
export class ControlPlaneUnavailable extends Error implements Asked {
  override readonly name = "ControlPlaneUnavailable";
  readonly fault: UnavailableFault;
  readonly method: Asked["method"];
  readonly path: string;
  /** The HTTP status, where there was a response. */
  readonly status: number | null;
  /** `error.code` of the answer, where it had one. */
  readonly code: string | null;
  /** `error.message` of the answer, where it had one. */
  readonly reason: string | null;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(asked: Asked, fault: UnavailableFault, response?: ErrorResponse, cause?: unknown) {
    const status = response ? `: ${response.status}${response.code === undefined ? "" : ` ${response.code}`}` : "";
    super(
      `control plane unavailable (${fault}) at ${asked.method} ${asked.path}${status}`,
      cause === undefined ? undefined : { cause },
    );
    this.fault = fault;
    this.method = asked.method;
    this.path = asked.path;
    this.status = response?.status ?? null;
    this.code = response?.code ?? null;
    this.reason = response?.message ?? null;
    this.details = response?.details ?? {};
  }
}

/** The control plane understood the request and refused it; unchanged, it will be refused again. */
export class ControlPlaneRejected extends Error implements Asked {
  override readonly name: string = "ControlPlaneRejected";
  readonly status: number;
  /** `error.code` of the response. */
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly method: Asked["method"];
  readonly path: string;

  constructor(asked: Asked, { status, code = "unauthorized", message = code, details = {} }: ErrorResponse) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
    this.method = asked.method;
    this.path = asked.path;
  }
}

/** A manifest was refused: 422, it exceeds what was discovered; or 409 `needs_review`, nothing could be discovered. */
export class ManifestRejected extends ControlPlaneRejected {
  override readonly name = "ManifestRejected";
  /** One entry for each tool reference. */
  readonly diff: readonly DiffEntry[];
  /** True for 409: submitting again with `overrideReason` is accepted, and attests the manifest. */
  readonly needsReview: boolean;

  constructor(asked: Asked, response: ErrorResponse, diff: readonly DiffEntry[]) {
    super(asked, response);
    this.diff = diff;
    this.needsReview = response.status === 409;
  }

  /** One line for each entry: the tool reference and what to do about it. */
  remedies(): readonly string[] {
    return this.diff.map(({ ref, remedy }) => `${ref}: ${remedy}`);
  }
}

/** A privileged call came without the parameters to bind it to. Nothing was exchanged or minted: pass `params`. */
export class TransactionParamsRequired extends Error {
  override readonly name = "TransactionParamsRequired";
  readonly target: string;
  /** Names the recorded allow, which stays unspent. */
  readonly actionId: string;

  constructor(target: string, actionId: string) {
    super(`${target} is privileged: pass the call's params`);
    this.target = target;
    this.actionId = actionId;
  }
}
