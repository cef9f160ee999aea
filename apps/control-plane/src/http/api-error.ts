import type { ErrorCode, ErrorEnvelope } from "@svc/core";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { z } from "zod";

/** The HTTP status of every error code (docs/reference/conventions.md#error-codes). */
export const statusOf = {
  invalid_request: 400,
  invalid_proof: 400,
  unauthorized: 401,
  renewal_refused: 403,
  mint_refused: 403,
  agent_not_found: 404,
  scope_not_found: 404,
  policy_version_not_found: 404,
  manifest_version_not_found: 404,
  action_not_found: 404,
  session_not_found: 404,
  sign_in_not_found: 404,
  sink_not_found: 404,
  enrollment_not_found: 404,
  key_not_found: 404,
  handle_not_found: 404,
  route_not_found: 404,
  method_not_allowed: 405,
  agent_exists: 409,
  agent_revoked: 409,
  token_spent: 409,
  policy_version_changed: 409,
  no_agent_in_good_standing: 409,
  needs_review: 409,
  policy_recompile_required: 409,
  enrollment_expired: 409,
  already_minted: 409,
  transaction_not_required: 409,
  issuer_key_configured: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  reconciliation_rejected: 422,
  policy_too_large: 422,
  params_unbindable: 422,
  rate_limited: 429,
  internal: 500,
  audit_unavailable: 503,
  database_unavailable: 503,
  guard_unavailable: 503,
  identity_provider_unavailable: 503,
  restore_unacknowledged: 503,
  draining: 503,
} as const satisfies Record<ErrorCode, ContentfulStatusCode>;

interface ApiErrorOptions extends Pick<ErrorEnvelope, "details"> {
  readonly headers?: Readonly<Record<string, string>>;
  /** Stays in the process. */
  readonly cause?: unknown;
}

/** A refusal as the caller sees it: `message` and `details` leave the process, the cause never does. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorEnvelope["details"];
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, { details, headers = {}, cause }: ApiErrorOptions = {}) {
    super(message, { cause });
    this.code = code;
    this.details = details;
    this.headers = { ...headersOf(code), ...headers };
  }

  get status(): ContentfulStatusCode {
    return statusOf[this.code];
  }

  get envelope(): ErrorEnvelope {
    return { error: { code: this.code, message: this.message }, ...(this.details && { details: this.details }) };
  }
}

function headersOf(code: ErrorCode): Record<string, string> {
  if (code === "unauthorized") return { "WWW-Authenticate": "Bearer" };
  return statusOf[code] === 503 ? { "Retry-After": "1" } : {};
}

/** One fault of a request. `path` is as `scopes.expenses.tools[0].ref`; empty for the whole. */
type RequestIssue = Readonly<Record<"path" | "message", string>>;

const maxIssues = 50;
/** Paths and messages name members of the request, which may be of any length. */
const maxLength = 300;

/** 400 `invalid_request` with `details.issues` (docs/reference/conventions.md#errors). */
export const invalidRequest = (message: string, issues: readonly RequestIssue[] = []): ApiError =>
  new ApiError("invalid_request", message, issues.length === 0 ? {} : { details: { issues } });

/** Schema messages name members and rules, never values. */
export const toIssues = (error: z.ZodError): readonly RequestIssue[] =>
  error.issues.slice(0, maxIssues).map(({ path, message }) => ({
    path: z.core.toDotPath(path).slice(0, maxLength),
    message: message.slice(0, maxLength),
  }));

interface Result {
  readonly kind: string;
}

type ErrorsOf<R extends Result, Kind extends R["kind"]> = {
  readonly [Other in Exclude<R["kind"], Kind>]:
    | ((result: Extract<R, { readonly kind: Other }>) => ApiError)
    | (Other extends ErrorCode ? string : never);
};

/**
 * A command's result of the wanted kind.
 *
 * @param errors for each other kind the error that the route answers, or its message where the kind is the code
 * @throws {ApiError}
 */
export function requireKind<R extends Result, const Kind extends R["kind"]>(
  result: R,
  kind: Kind,
  errors: ErrorsOf<R, Kind>,
): Extract<R, { readonly kind: Kind }> {
  if (result.kind === kind) return result as Extract<R, { readonly kind: Kind }>;
  const error: unknown = errors[result.kind as Exclude<R["kind"], Kind>];
  throw typeof error === "string"
    ? new ApiError(result.kind as ErrorCode, error)
    : (error as (result: R) => ApiError)(result);
}
