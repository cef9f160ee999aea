import type { ErrorCode } from "@svc/core";
import { ApiError } from "./api-error.ts";

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
