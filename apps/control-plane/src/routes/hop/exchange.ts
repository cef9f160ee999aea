import {
  type EmbeddedAnswer,
  exchangeForm,
  exchangeResponse,
  jwtTokenType,
  type OAuthErrorCode,
  oauthError,
  taints,
  tokenExchangeGrantType,
  toWire,
} from "@svc/core";
import { type ExchangeCommand, type Exchanged, exchange } from "../../commands/hop/exchange.ts";
import { readForm } from "../../http/form.ts";
import { oauthHeaders, refusal, refuse, respond } from "../../http/oauth-answers.ts";
import { type App, routesOf } from "../../http/routes.ts";
import type { Deps } from "../deps.ts";
import { hopEndpoint } from "./endpoint.ts";

export function exchangeRoute(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Hops");
  const reported = hopEndpoint(app, "/v1/token/exchange", deps.events, deps.events.exchange);
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
      403: {
        description: "`invalid_target`: the allow no longer holds; the answer names the recorded deny.",
        schema: oauthError,
      },
      413: { description: "`invalid_request`: the body is over 1 MiB.", schema: oauthError },
      429: { description: "`slow_down`: over the session's rate (RFC 8628 section 3.5).", schema: oauthError },
      503: {
        description: "`invalid_grant`: the single use could not be decided; nothing was issued.",
        schema: oauthError,
      },
    },
    headers: oauthHeaders,
    handle: async ({ c }) => {
      const form = await readForm(c.req.raw);
      if (!form.ok) return refuse(form.status, "invalid_request", form.description);
      const reading = readCommand(form.fields);
      if ("error" in reading) return refuse(400, reading.error, reading.description);
      const subject = await deps.verifySubject(reading.subjectToken);
      const waitSeconds = subject === undefined ? 0 : await deps.limits.session(subject);
      if (waitSeconds > 0) return refuse(429, "slow_down", "too many calls: try again later", { waitSeconds });
      return reported(c, exchange(deps, { ...reading.command, subject })).then(
        (result) => respond(exchangeAnswer(result)),
        () => respond(undecidable),
      );
    },
  });
}

export function exchangeAnswer(result: Exchanged): EmbeddedAnswer {
  switch (result.kind) {
    case "exchanged": {
      const { accessToken, expiresInSeconds: expiresIn } = result;
      const body = { accessToken, issuedTokenType: jwtTokenType, tokenType: "Bearer", expiresIn } as const;
      return { status: 200, body: toWire(exchangeResponse, body) };
    }
    case "invalid_subject_token":
      return refusal(400, "invalid_request", "subject_token does not verify as a current-hop token");
    case "invalid_proof":
      return refusal(400, "invalid_request", "actor_token is missing or does not prove the caller");
    case "invalid_grant":
      // One answer for every cause, so that no caller learns which record exists.
      return refusal(400, "invalid_grant", "no unspent allow for exactly this hop: authorize again");
    case "denied": {
      const { denyReason, actionId } = result.record;
      return refusal(403, "invalid_target", `the allow no longer holds: ${denyReason}`, { actionId });
    }
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
  const missing = required.find((name) => field(name) === undefined);
  if (missing !== undefined) return invalid(`${missing} is missing`);
  const [grantType, subjectToken = "", subjectTokenType, resource = "", scope = ""] = required.map(field);
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

/** The single use cannot be decided. */
export const undecidable = refusal(503, "invalid_grant", "single use cannot be decided now; start again", {
  waitSeconds: 1,
});
