import type { ErrorCode } from "@svc/core";
import { ApiError } from "../../http/api-error.ts";
import { toApiError } from "../../http/error-response.ts";
import { invalidRequest } from "../../http/issues.ts";

/** The endpoint's own error for a store that could not serve; any unforeseen fault stays `internal`. */
export function hopFault(error: unknown, code: ErrorCode, message: string): ApiError {
  const known = toApiError(error);
  return known.code === "internal" ? known : new ApiError(code, message, { cause: error });
}

export const actorUnproven = (): ApiError =>
  invalidRequest("The actor token is missing or does not prove the caller.", [
    { path: "actor_token", message: "must be signed by the caller's enrolled key for this token" },
  ]);
