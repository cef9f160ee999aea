import { methodNotAllowed as findAllowed } from "hono/method-not-allowed";
import { ApiError } from "./api-error.ts";
import type { App } from "./endpoint.ts";
import { errorResponse, toApiError } from "./error-response.ts";
import { requirePlainPath, routeNotFound } from "./path.ts";

/**
 * What every request meets around the routes: paths that read one way only, 404 and 405 in the envelope, and one place
 * that turns what was thrown into an answer. `report` is told of faults that nobody foresaw.
 */
export function installErrorHandling(app: App, report: (fault: unknown) => void): void {
  app.use(findAllowed({ app, onMethodNotAllowed: (c, methods) => errorResponse(c, methodNotAllowed(methods)) }));
  app.use(async (c, next) => {
    requirePlainPath(c.req.raw.url);
    await next();
  });
  app.notFound((c) => errorResponse(c, routeNotFound()));
  app.onError((thrown, c) => {
    const error = toApiError(thrown);
    if (error.code === "internal") report(thrown);
    return errorResponse(c, error);
  });
}

const methodNotAllowed = (methods: readonly string[]): ApiError =>
  new ApiError("method_not_allowed", "This route does not take this method.", {
    headers: { Allow: methods.join(", ") },
  });
