import { z } from "zod";
import { isOfKind, type SubjectToken } from "../commands/hop/subject-token.ts";
import { type Bearer, type Bearers, bearerToken, unauthorized } from "./bearers.ts";
import type { Access, App, Decoded, Endpoint } from "./endpoint.ts";
import { decodeJson, readJsonText } from "./json-body.ts";
import { decodeQuery, readQuery } from "./query.ts";
import { type CallerLimits, rateLimited } from "./rate-limit.ts";

const noParameters = z.strictObject({});

/** Authentication and rate limits, applied before a handler. */
export interface RouteAuth {
  readonly bearers: Bearers;
  readonly verifySubject: (token: string) => Promise<SubjectToken | undefined>;
  readonly limits: CallerLimits;
}

/**
 * Mounts a route and adds it to the OpenAPI document. It checks the credential and counts its rate before it reads
 * the request.
 */
export function mount<
  const Path extends string,
  const A extends Access,
  Query extends z.ZodObject = typeof noParameters,
  Body extends z.ZodType = z.ZodUndefined,
>(
  app: App,
  auth: RouteAuth,
  endpoint: Endpoint<Path, A, Query, Body>,
  handle: (request: Decoded<Path, A, Query, Body>) => Response | Promise<Response>,
): void {
  app.endpoints.push(endpoint);
  app.on(endpoint.method.toUpperCase(), endpoint.path.replaceAll(/\{(\w+)\}/g, ":$1"), async (c) => {
    const caller = await callerOf(auth, endpoint.access, c.req.raw.headers.get("authorization"));
    const waitSeconds = await waitOf(auth.limits, caller);
    if (waitSeconds > 0) throw rateLimited(waitSeconds);
    const rawQuery = endpoint.reads === undefined ? readQuery(c.req.raw.url) : {};
    const query = endpoint.reads === undefined ? decodeQuery(rawQuery, endpoint.query ?? noParameters) : undefined;
    const bodyText = endpoint.body === undefined ? "" : await readText(endpoint, c.req.raw);
    const body = endpoint.body === undefined ? undefined : decodeJson(bodyText, endpoint.body);
    // By default: what is answered here is somebody's business, and some of it is tokens.
    if (!endpoint.ownHeaders) c.header("Cache-Control", "no-store");
    const decoded: unknown = { c, caller, params: c.req.param(), query, rawQuery, body, bodyText };
    // Held to the generic types by what was just decoded, which the compiler cannot follow.
    return handle(decoded as Decoded<Path, A, Query, Body>);
  });
}

const readText = async ({ bodyOptional }: Pick<Endpoint, "bodyOptional">, request: Request): Promise<string> =>
  bodyOptional && isWithoutBody(request.headers) ? "{}" : readJsonText(request);

/** RFC 9112 section 6: neither header, no body. */
const isWithoutBody = (headers: Headers): boolean =>
  (headers.get("content-length") ?? "0") === "0" && !headers.has("transfer-encoding") && !headers.has("content-type");

async function callerOf({ bearers, verifySubject }: RouteAuth, access: Access, authorization: string | null) {
  switch (access) {
    case "none":
      return undefined;
    case "admin_if_sent":
      return authorization === null ? undefined : bearers("admin", authorization);
    case "current_hop":
    case "narrowed": {
      const subject = await verifySubject(bearerToken(authorization));
      if (subject === undefined || !isOfKind(subject, access)) throw unauthorized();
      return subject;
    }
    default:
      return bearers(access, authorization);
  }
}

function waitOf(limits: CallerLimits, caller: Bearer | SubjectToken | undefined): Promise<number> | 0 {
  if (caller === undefined) return 0;
  return "token" in caller ? limits.session(caller) : limits.bearer(caller);
}
