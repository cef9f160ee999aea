import { AdmissionRefused, type RefusalCause } from "../admission.ts";

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** The HTTP response to a call that is not admitted: the usual envelope, with the cause as code. */
export interface Refusal extends HttpResponse {
  readonly status: 401 | 403 | 503;
  readonly body: { readonly error: { readonly code: string; readonly message: string } };
}

export const json = { "content-type": "application/json", "cache-control": "no-store" };

/** RFC 6750 section 3.1: no error code without a token. */
const unauthenticated = { status: 401, headers: { "www-authenticate": "Bearer" } } as const;
const invalidToken = { status: 401, headers: { "www-authenticate": 'Bearer error="invalid_token"' } } as const;
const insufficient = { status: 403, headers: { "www-authenticate": 'Bearer error="insufficient_scope"' } } as const;
const forbidden = { status: 403, headers: {} } as const;
const unavailable = { status: 503, headers: { "retry-after": "1" } } as const;

const responses: Readonly<Record<RefusalCause, Pick<Refusal, "status" | "headers">>> = {
  missing_token: unauthenticated,
  malformed: invalidToken,
  type: invalidToken,
  signature: invalidToken,
  issuer: invalidToken,
  audience: invalidToken,
  expired: invalidToken,
  session_mismatch: invalidToken,
  data_class: insufficient,
  revoked: forbidden,
  stale_identity_view: unavailable,
  identity_missing: unauthenticated,
  identity_invalid: invalidToken,
  transaction_missing: forbidden,
  transaction_invalid: forbidden,
  params_mismatch: forbidden,
  replayed: forbidden,
};

/** An error that is no refusal is a 503 without its cause: a call that cannot be verified is not served. */
export function refusalOf(error: unknown): Refusal {
  const code = error instanceof AdmissionRefused ? error.cause : undefined;
  const { status, headers } = code === undefined ? unavailable : responses[code];
  const body = { error: { code: code ?? "unavailable", message: "The call is not admitted." } };
  return { status, headers: { ...json, ...headers }, body };
}
