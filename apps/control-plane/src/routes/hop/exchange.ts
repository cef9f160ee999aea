import {
  exchangeForm,
  exchangeResponse,
  jwtTokenType,
  type OAuthErrorCode,
  oauthError,
  taints,
  tokenExchangeGrantType,
} from "@svc/core";
import type { Context } from "hono";
import { type ExchangeCommand, type Exchanged, exchange } from "../../commands/hop/exchange.ts";
import type { App } from "../../http/endpoint.ts";
import { readForm } from "../../http/form.ts";
import { jsonResponse } from "../../http/json-response.ts";
import { retryAfter } from "../../http/rate-limit.ts";
import { routesOf } from "../../http/routes.ts";
import type { HopRouteDeps } from "./authorize.ts";
import { openSpan, takeSpan } from "./spans.ts";

export function exchangeRoute(app: App, deps: HopRouteDeps): void {
  const { route } = routesOf(app, deps, "Hops");
  const { events } = deps;
  openSpan(app, "/v1/token/exchange", events, events.exchangeStarted, events.exchangeMalformed);
  route("POST /v1/token/exchange", {
    access: "none",
    summary: "RFC 8693: spend the current-hop token and an allow for the next hop's token.",
    reads: { mediaType: "application/x-www-form-urlencoded", schema: exchangeForm },
    reply: { description: "The narrowed token.", schema: exchangeResponse },
    otherReplies: {
      400: {
        description:
          "RFC 6749 section 5.2: `invalid_request`, `unsupported_grant_type`, `invalid_grant`, `invalid_target`.",
        schema: oauthError,
      },
      403: { description: "`invalid_target`: the allow no longer holds.", schema: oauthError },
      413: { description: "`invalid_request`: the body is over 1 MiB.", schema: oauthError },
      429: { description: "`slow_down`: over the session's rate (RFC 8628 section 3.5).", schema: oauthError },
      503: {
        description: "`invalid_grant`: the single use could not be decided; nothing was issued.",
        schema: oauthError,
      },
    },
    headers: noStore,
    errors: [],
    handle: async ({ c }) => {
      const form = await readForm(c.req.raw);
      if (!form.ok) return refuse(form.status, "invalid_request", form.description);
      const reading = readCommand(form.fields);
      if ("error" in reading) return refuse(400, reading.error, reading.description);
      const subject = await deps.verifySubject(reading.subjectToken);
      const waitSeconds = subject === undefined ? 0 : await deps.limits.session(subject);
      return waitSeconds > 0
        ? refuse(429, "slow_down", "too many calls: try again later", waitSeconds)
        : exchanged(deps, c, { ...reading.command, subject });
    },
  });
}

async function exchanged(deps: HopRouteDeps, c: Context, command: ExchangeCommand) {
  const result = await exchange(deps, command).catch((error: unknown) => {
    deps.events.exchangeUnavailable(takeSpan(c), error);
  });
  if (result === undefined) return refuse(503, "invalid_grant", "single use cannot be decided now; start again");
  deps.events.exchangeAnswered(takeSpan(c), result);
  return result.kind === "exchanged" ? toAnswer(result) : refuse(...refusalOf(result));
}

type Refusal = readonly [status: 400 | 403 | 413 | 429 | 503, error: OAuthErrorCode, description: string];

function refusalOf(result: Exclude<Exchanged, { kind: "exchanged" }>): Refusal {
  switch (result.kind) {
    case "invalid_subject_token":
      return [400, "invalid_request", "subject_token does not verify as a current-hop token"];
    case "invalid_proof":
      return [400, "invalid_request", "actor_token is missing or does not prove the caller"];
    case "invalid_grant":
      // One answer for every cause, so that no caller learns which record exists.
      return [400, "invalid_grant", "no unspent allow for exactly this hop: authorize again"];
    case "denied":
      return [403, "invalid_target", `the allow no longer holds: ${result.record.denyReason}`];
  }
}

type Reading =
  | { readonly subjectToken: string; readonly command: Omit<ExchangeCommand, "subject"> }
  | { readonly error: OAuthErrorCode; readonly description: string };

const required = ["grant_type", "subject_token", "subject_token_type", "resource", "scope"] as const;

/** In order (docs/reference/routes.md#token-exchange); unknown parameters are ignored (RFC 6749 section 3.2). */
function readCommand(fields: ReadonlyMap<string, string>): Reading {
  // An empty value counts as omitted (RFC 6749 section 3.2).
  const field = (name: string): string | undefined => fields.get(name) || undefined;
  const invalid = (description: string): Reading => ({ error: "invalid_request", description });
  const [grantType, subjectToken, subjectTokenType, resource, scope] = required.map(field);
  const missing = required.find((name) => field(name) === undefined);
  if (
    missing === "grant_type" ||
    subjectToken === undefined ||
    resource === undefined ||
    scope === undefined ||
    missing
  ) {
    return invalid(`${missing} is missing`);
  }
  if (grantType !== tokenExchangeGrantType) {
    return { error: "unsupported_grant_type", description: `grant_type must be ${tokenExchangeGrantType}` };
  }
  if (subjectTokenType !== jwtTokenType) return invalid(`subject_token_type must be ${jwtTokenType}`);
  const actorToken = field("actor_token");
  if ((actorToken === undefined) !== (field("actor_token_type") === undefined)) {
    return invalid("actor_token and actor_token_type come together");
  }
  if (actorToken !== undefined && field("actor_token_type") !== jwtTokenType) {
    return invalid(`actor_token_type must be ${jwtTokenType}`);
  }
  const taint = exchangeForm.shape.taint.safeParse(field("taint"));
  if (!taint.success) return invalid(`taint must be one of ${taints.join(", ")}`);
  const audience = field("audience");
  if (audience !== undefined && audience !== resource) {
    return { error: "invalid_target", description: "audience must equal resource" };
  }
  return { subjectToken, command: { actorToken, resource, scope, actionId: field("action_id"), taint: taint.data } };
}

const noStore = { "Cache-Control": "no-store", Pragma: "no-cache" };

function refuse(
  status: Refusal[0],
  error: OAuthErrorCode,
  description: string,
  waitSeconds = status === 503 ? 1 : 0,
): Response {
  const headers = waitSeconds > 0 ? { ...noStore, ...retryAfter(waitSeconds) } : noStore;
  return jsonResponse({ error, error_description: description }, status, headers);
}

const toAnswer = ({ accessToken, expiresInSeconds }: Extract<Exchanged, { kind: "exchanged" }>) =>
  ({ accessToken, issuedTokenType: jwtTokenType, tokenType: "Bearer", expiresIn: expiresInSeconds }) as const;
