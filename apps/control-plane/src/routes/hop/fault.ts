import type { ErrorCode } from "@svc/core";
import { ApiError } from "../../http/api-error.ts";
import { toApiError } from "../../http/error-response.ts";

/** A store that could not serve is told in the endpoint's own words; anything unforeseen stays `internal`. */
export function hopFault(error: unknown, code: ErrorCode, message: string): ApiError {
  const known = toApiError(error);
  return known.code === "internal" ? known : new ApiError(code, message, { cause: error });
}
