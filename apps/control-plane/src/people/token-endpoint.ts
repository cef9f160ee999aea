import { createHash } from "node:crypto";
import { tokenExchangeGrantType } from "@svc/core";
import { readableFromPages } from "../http/cross-origin.ts";
import { readForm } from "../http/form.ts";
import { oauthHeaders, refuse } from "../http/oauth-answers.ts";
import { type App, jsonResponse } from "../http/routes.ts";
import { grantByAssertion } from "./assertion-grant.ts";
import { isAuthentic, presentedClient, tokenClient } from "./clients.ts";
import type { ConsentDeps } from "./consent-deps.ts";
import { endGrant } from "./end-grant.ts";
import { type Granted, refusedGrant, spentTwice, type TokenRequest } from "./granted.ts";
import { newSecret, sha256 } from "./secrets.ts";

export const jwtBearerGrantType = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/** The grants of `/oauth/token`, as RFC 8414 metadata lists them. */
export const tokenGrantTypes = ["authorization_code", "refresh_token", jwtBearerGrantType] as const;

/** RFC 6749 section 3.2, for the clients of the authorization server. */
export function tokenEndpoint(app: App, deps: ConsentDeps): void {
  if (deps.people === undefined) return;
  for (const path of ["/oauth/token", "/oauth/revoke"]) app.use(path, readableFromPages("POST"));
  app.post("/oauth/token", async (c) => {
    const form = await readForm(c.req.raw);
    if (!form.ok) return refuse(form.status, "invalid_request", form.description);
    const field = (name: string) => form.fields.get(name) || undefined;
    // A stock client of RFC 8693 finds one token endpoint, this one.
    if (field("grant_type") === tokenExchangeGrantType) return exchanged(app, c.req.raw, form.fields);
    const client = authenticated(deps, form.fields, c.req.header("authorization") ?? null);
    if (client === undefined) return invalidClient(c.req.raw.headers);
    deps.requireAcknowledged();
    return answer(deps, await grantOf(deps, { client, field }));
  });
  app.post("/oauth/revoke", async (c) => {
    const form = await readForm(c.req.raw);
    if (!form.ok) return refuse(form.status, "invalid_request", form.description);
    const client = authenticated(deps, form.fields, c.req.header("authorization") ?? null);
    if (client === undefined) return invalidClient(c.req.raw.headers);
    const token = form.fields.get("token");
    if (!token) return refuse(400, "invalid_request", "token is missing");
    const grant = await deps.consents.grantOfToken(sha256(token));
    if (grant?.clientId === client.clientId)
      await endGrant(deps, grant, { by: client.clientId, reason: "revoked by the client" });
    // RFC 7009 section 2.2: the same for a token that does not exist.
    return new Response(null, { status: 200, headers: oauthHeaders });
  });
}

/** By the route of the exchange, with its telemetry. */
async function exchanged(app: App, { headers }: Request, fields: ReadonlyMap<string, string>): Promise<Response> {
  const trace = ["traceparent", "tracestate", "baggage"].flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value] as [string, string]];
  });
  return app.request("/v1/token/exchange", {
    method: "POST",
    headers: [["content-type", "application/x-www-form-urlencoded"], ...trace],
    body: new URLSearchParams([...fields]).toString(),
  });
}

function authenticated(
  { oauth }: ConsentDeps,
  fields: ReadonlyMap<string, string>,
  authorization: string | null,
): TokenRequest["client"] | undefined {
  const presented = presentedClient(fields, authorization);
  const client = presented?.clientId === undefined ? undefined : tokenClient(oauth, presented.clientId);
  return client && isAuthentic(client, presented?.secret) ? client : undefined;
}

/** RFC 6749 section 5.2: with the challenge exactly where the client used the header. */
function invalidClient(headers: Headers): Response {
  const usedHeader = headers.has("authorization");
  const refused = refuse(usedHeader ? 401 : 400, "invalid_client", "the client is not known, or its secret is wrong");
  if (usedHeader) refused.headers.set("WWW-Authenticate", "Basic");
  return refused;
}

async function grantOf(deps: ConsentDeps, request: TokenRequest): Promise<Granted> {
  switch (request.field("grant_type")) {
    case "authorization_code":
      return grantByCode(deps, request);
    case "refresh_token":
      return grantByRefresh(deps, request);
    case jwtBearerGrantType:
      return grantByAssertion(deps, request);
    default:
      return refusedGrant("unsupported_grant_type", `grant_type must be one of ${tokenGrantTypes.join(", ")}`);
  }
}

/** One sentence for every fault, so that a stolen code tells nothing. */
const badCode = refusedGrant("invalid_grant", "the code is not good, or not with this verifier and redirect_uri");

async function grantByCode(deps: ConsentDeps, { client, field }: TokenRequest): Promise<Granted> {
  const code = field("code");
  const verifier = field("code_verifier");
  if (code === undefined || verifier === undefined) {
    return refusedGrant("invalid_request", "code and code_verifier are required");
  }
  const begunWith = sha256(code);
  const grant = await deps.consents.grantOf({ begunWith });
  if (grant?.code == null || grant.clientId !== client.clientId) return badCode;
  if (grant.isSpent) return spentTwice(deps, grant, "its code was used twice", badCode);
  const { challenge, redirectUri, expiresAtMs } = grant.code;
  const isProven = createHash("sha256").update(verifier).digest("base64url") === challenge;
  if (!isProven || (field("redirect_uri") ?? redirectUri) !== redirectUri) return badCode;
  if (deps.clock.nowMs() >= expiresAtMs) return badCode;
  return withResource({ kind: "granted", grant, issuedFor: begunWith }, field("resource"));
}

const badRefresh = refusedGrant("invalid_grant", "the refresh token is not good: sign in again");

async function grantByRefresh(deps: ConsentDeps, { client, field }: TokenRequest): Promise<Granted> {
  const token = field("refresh_token");
  if (token === undefined) return refusedGrant("invalid_request", "refresh_token is missing");
  const refreshToken = sha256(token);
  const grant = await deps.consents.grantOf({ refreshToken });
  if (grant?.clientId !== client.clientId) return badRefresh;
  if (grant.isSpent) return spentTwice(deps, grant, "its refresh token was used twice", badRefresh);
  const asked = field("scope")?.split(" ").filter(Boolean);
  if (asked?.some((scope) => !grant.scopes.includes(scope))) {
    return refusedGrant("invalid_scope", "scope must not name more than was consented to");
  }
  return withResource({ kind: "granted", grant, issuedFor: refreshToken }, field("resource"));
}

const withResource = (granted: Granted & { readonly kind: "granted" }, resource: string | undefined): Granted =>
  resource === undefined || resource === granted.grant.resource
    ? granted
    : refusedGrant("invalid_target", "resource must be the one that was consented to");

const accessSeconds = 600;

async function answer(deps: ConsentDeps, granted: Granted): Promise<Response> {
  if (granted.kind === "refused") return refuse(400, granted.error, granted.why);
  const { grant, issuedFor } = granted;
  const nowMs = deps.clock.nowMs();
  const endsMs = grant.session.expiresAtMs;
  if (grant.isEnded || nowMs >= endsMs) return refuse(400, "invalid_grant", "the session has ended: sign in again");
  const access = newSecret("access", deps.secrets);
  const refresh = newSecret("refresh", deps.secrets);
  const accessEndsMs = Math.min(endsMs, nowMs + accessSeconds * 1_000);
  const isFirst = await deps.consents.addTokens({
    grantId: grant.grantId,
    issuedFor,
    access: { hash: sha256(access), expiresAtMs: accessEndsMs },
    refresh: { hash: sha256(refresh), expiresAtMs: endsMs },
  });
  if (!isFirst) {
    await endGrant(deps, grant, { by: grant.clientId, reason: "what it was issued for was used twice" });
    return refuse(400, "invalid_grant", "it was used before: sign in again");
  }
  const body = {
    access_token: access,
    token_type: "Bearer",
    expires_in: Math.floor((accessEndsMs - nowMs) / 1_000),
    refresh_token: refresh,
    scope: grant.scopes.join(" "),
  };
  return jsonResponse(body, 200, oauthHeaders);
}
