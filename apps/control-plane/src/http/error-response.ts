import type { Context } from "hono";
import { ApiError } from "./api-error.ts";

/** Faults of the stores carry one of these codes, whichever adapter threw them. */
const unavailable = {
  audit_unavailable: "The decision could not be recorded.",
  database_unavailable: "The database cannot serve just now.",
  guard_unavailable: "The replay guard cannot serve just now.",
  restore_unacknowledged:
    "The database is older than one that was served before: nothing is granted until POST /v1/issuer-epoch acknowledges it.",
  identity_provider_unavailable: "The identity provider cannot be asked just now.",
} as const;

const isUnavailable = (code: unknown): code is keyof typeof unavailable =>
  typeof code === "string" && Object.hasOwn(unavailable, code);

/** Whatever was thrown, as the caller may see it: nothing of an unforeseen fault leaves the process. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return isUnavailable(code)
    ? new ApiError(code, unavailable[code], { cause: error })
    : new ApiError("internal", "The request could not be served.", { cause: error });
}

export const errorResponse = (c: Context, error: ApiError): Response =>
  c.json(error.envelope, error.status, { ...error.headers, "Cache-Control": "no-store" });
