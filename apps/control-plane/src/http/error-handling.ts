import type { Context } from "hono";
import { methodNotAllowed as findAllowed } from "hono/method-not-allowed";
import { ApiError } from "./api-error.ts";
import { requirePlainPath, routeNotFound } from "./path.ts";
import type { App } from "./routes.ts";

/**
 * Around the routes: paths that read one way only, 404 and 405 in the envelope, and one place that turns what was
 * thrown into an answer.
 */
export function installErrorHandling(app: App, report: (fault: unknown) => void): void {
  const onMethodNotAllowed = (c: Context, methods: readonly string[]): Response => {
    const headers = { Allow: methods.join(", ") };
    return errorResponse(c, new ApiError("method_not_allowed", "This route does not take this method.", { headers }));
  };
  app.use(findAllowed({ app, onMethodNotAllowed }));
  app.use(async (c, next) => {
    requirePlainPath(c.req.raw.url);
    await next();
  });
  app.notFound((c) => errorResponse(c, routeNotFound()));
  app.onError((thrown, c) => errorResponse(c, reported(thrown, report)));
}

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

/** `report` gets unforeseen faults alone. */
export function reported(thrown: unknown, report: (fault: unknown) => void): ApiError {
  const error = toApiError(thrown);
  if (error.code === "internal") report(thrown);
  return error;
}

/** What was thrown, as the caller may see it: nothing of an unforeseen fault leaves the process. */
function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return isUnavailable(code)
    ? new ApiError(code, unavailable[code], { cause: error })
    : new ApiError("internal", "The request could not be served.", { cause: error });
}

const errorResponse = (c: Context, error: ApiError): Response =>
  c.json(error.envelope, error.status, { ...error.headers, "Cache-Control": "no-store" });
