import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { DefinitionPin, Taint } from "@svc/core";
import {
  bindParams,
  decodeUnverifiedHopToken,
  type HopClaims,
  issueHopToken,
  issueTransactionToken,
  narrowedClaims,
  rootGrantClaims,
  type SigningKey,
  siblingClaims,
  transactionClaims,
} from "@svc/tokens";

/** What the double decides about one target. */
export interface TargetPolicy {
  readonly denyReason?: string;
  readonly consentableScopes?: readonly string[];
  readonly consentUrl?: string;
  readonly privileged?: boolean;
  readonly taint?: Taint;
  readonly acceptsTaint?: boolean;
  /** What the session pinned. */
  readonly definition?: DefinitionPin | undefined;
}

export interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** A session in which an entry agent acts. */
export interface SessionGrant {
  readonly sessionId: string;
  readonly scope: string;
  readonly expiresAt?: string;
}

/** The agent of every session that is redeemed or beside another; its policy is to be set. */
export const entryAgent = "planner";
export const enforcementToken = "enforcement-token-of-the-double-0123";

const json = (response: ServerResponse, status: number, body: unknown) => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
};
export const refusal = (response: ServerResponse, status: number, code: string, details?: unknown) =>
  json(response, status, { error: { code, message: "refused" }, ...(details !== undefined && { details }) });

type Allow = Parameters<typeof narrowedClaims>[1];

export interface State {
  readonly key: SigningKey;
  issuer: string;
  readonly policies: Map<string, TargetPolicy>;
  readonly sessionPolicies: Map<string, TargetPolicy>;
  readonly handles: Map<string, { readonly sessionId: string; readonly resource: string }>;
  readonly beside: SessionGrant[];
  changeRedeemed: object;
  /** Session to its end, in seconds. */
  readonly sessions: Map<string, number>;
  readonly spent: Set<string>;
  readonly allows: Map<string, Omit<Allow, "actionId">>;
}

const seconds = () => Date.now() / 1000;
export const issuance = (state: State, { sessionId }: HopClaims) => ({
  jti: randomUUID(),
  nowSeconds: seconds(),
  sessionExpiresAtSeconds: state.sessions.get(sessionId) ?? seconds() + 3600,
});

export async function consent(
  state: State,
  { ttlSeconds = 3600, sessionId = randomUUID() }: { ttlSeconds?: number; sessionId?: string } = {},
) {
  const sessionExpiresAtSeconds = seconds() + ttlSeconds;
  state.sessions.set(sessionId, sessionExpiresAtSeconds);
  const facts = { issuer: state.issuer, userSub: "human-canary", scope: "expenses", sessionId, policyVersion: 1 };
  const claims = rootGrantClaims(facts, { jti: randomUUID(), nowSeconds: seconds(), sessionExpiresAtSeconds });
  return { sessionId, token: await issueHopToken(state.key, claims) };
}

export function claimsOf(token: string): HopClaims {
  const claims = decodeUnverifiedHopToken(token);
  if (!claims) throw new Error("no hop token");
  return claims;
}

const bearerOf = ({ headers }: Asked): HopClaims | undefined => {
  const claims = decodeUnverifiedHopToken((headers.authorization ?? "").replace("Bearer ", ""));
  return claims && claims.exp > seconds() ? claims : undefined;
};

const policyOf = (state: State, { sessionId }: HopClaims, target: string): TargetPolicy =>
  state.sessionPolicies.get(`${sessionId} ${target}`) ??
  state.policies.get(target) ?? { denyReason: "TARGET_NOT_DECLARED" };

type Route = (state: State, asked: Asked, response: ServerResponse) => Promise<void> | void;

const authorize: Route = (state, asked, response) => {
  const claims = bearerOf(asked);
  const body = JSON.parse(asked.body);
  if (!claims || claims.sessionId !== body.session_id) return refusal(response, 401, "unauthorized");
  const policy = policyOf(state, claims, body.target);
  const isAllowed = policy.denyReason === undefined;
  const actionId = randomUUID();
  const { privileged = false, taint = "trusted_internal" } = policy;
  const { target, target_kind: targetKind, data_class: dataClass } = body;
  if (isAllowed) state.allows.set(actionId, { target, targetKind, dataClass, privileged, taint });
  json(response, 200, {
    action_id: actionId,
    decision: isAllowed ? "allow" : "deny",
    deny_reason: policy.denyReason ?? null,
    recoverable: policy.denyReason === "SCOPE_NOT_CONSENTED",
    ...(policy.consentableScopes && { consentable_scopes: policy.consentableScopes }),
    ...(policy.consentUrl !== undefined && { consent_url: policy.consentUrl }),
    enforced: body.enforced,
    hop: claims.hop,
    acting_agent: claims.hop === 1 ? claims.sub : claims.aud,
    target: body.target,
    target_kind: body.target_kind,
    data_class: body.data_class,
    privileged,
    transaction_required: privileged,
    taint,
    taint_source: null,
    ...(policy.acceptsTaint !== undefined && { accepts_taint: policy.acceptsTaint }),
    policy_version: 1,
    guarantee_level: "network",
    decided_at: new Date().toISOString(),
  });
};

const exchange: Route = async (state, asked, response) => {
  const form = new URLSearchParams(asked.body);
  const claims = claimsOf(form.get("subject_token") ?? "");
  const allow = state.allows.get(form.get("action_id") ?? "");
  const invalid = (status: number, error: string) => json(response, status, { error, error_description: "refused" });
  if (!allow || state.spent.has(claims.jti)) return invalid(400, "invalid_grant");
  if (policyOf(state, claims, allow.target).denyReason !== undefined) return invalid(403, "invalid_target");
  state.spent.add(claims.jti);
  state.allows.delete(form.get("action_id") ?? "");
  const spent = { actionId: form.get("action_id") ?? "", ...allow };
  const access_token = await issueHopToken(state.key, narrowedClaims(claims, spent, issuance(state, claims)));
  json(response, 200, {
    access_token,
    issued_token_type: "urn:ietf:params:oauth:token-type:jwt",
    token_type: "Bearer",
    expires_in: 60,
  });
};

const renew: Route = async (state, asked, response) => {
  const claims = bearerOf(asked);
  if (!claims) return refusal(response, 401, "unauthorized");
  if (state.spent.has(claims.jti)) return refusal(response, 409, "token_spent");
  state.spent.add(claims.jti);
  const { count } = JSON.parse(asked.body);
  const tokens = await Promise.all(
    Array.from({ length: count }, () =>
      issueHopToken(state.key, siblingClaims(claims, "trusted_internal", issuance(state, claims))),
    ),
  );
  json(response, 200, { tokens, expires_in: claims.hop === 1 ? Math.floor(claims.exp - seconds()) : 60 });
};

const mint: Route = async (state, asked, response) => {
  const claims = bearerOf(asked);
  if (!claims?.act || claims.actionId === null || claims.targetKind === null)
    return refusal(response, 401, "unauthorized");
  // Out of the request's own text, as the real one reads it.
  const params = asked.body.slice(asked.body.indexOf('"params":') + '"params":'.length, -1);
  const binding = bindParams(params);
  if (!binding.ok) return refusal(response, 422, "params_unbindable");
  const { act, actionId, targetKind } = claims;
  const issued = transactionClaims({ ...claims, act, actionId, targetKind }, binding.paramsHash, {
    jti: randomUUID(),
    nowSeconds: seconds(),
  });
  json(response, 200, {
    transaction_token: await issueTransactionToken(state.key, issued),
    issued_token_type: "urn:ietf:params:oauth:token-type:txn_token",
    token_type: "N_A",
    expires_in: 60,
    action_id: actionId,
  });
};

const targets: Route = (state, asked, response) => {
  const claims = bearerOf(asked);
  if (!claims) return refusal(response, 401, "unauthorized");
  const policies = [...state.policies.keys()].map((target) => [target, policyOf(state, claims, target)] as const);
  const allowed = policies.filter(([, policy]) => policy.denyReason === undefined);
  const start = Number(new URLSearchParams(asked.path.split("?")[1]).get("cursor") ?? 0);
  const data = allowed.slice(start, start + 2).map(([target, { privileged = false, definition }]) => ({
    ...(definition && { definition_hash: definition.hash, definition_parts: definition.parts }),
    target,
    target_kind: "tool",
    data_classes: ["docs"],
    privileged,
  }));
  const next = start + 2 < allowed.length ? String(start + 2) : null;
  json(response, 200, { data, page: { next_cursor: next, limit: 2 } });
};

const granted = async (state: State, sessionId: string, scope: string) => ({
  session_id: sessionId,
  scope,
  agent: entryAgent,
  data_class: "finance docs",
  root_grant: (await consent(state, { sessionId })).token,
  expires_at: new Date((state.sessions.get(sessionId) ?? 0) * 1000).toISOString(),
});

const redeem: Route = async (state, asked, response) => {
  if (asked.headers.authorization !== `Bearer ${enforcementToken}`) return refusal(response, 401, "unauthorized");
  const { handle, resource } = JSON.parse(asked.body);
  const found = state.handles.get(handle);
  if (found?.resource !== resource) return refusal(response, 404, "handle_not_found");
  const handle_expires_at = new Date(Date.now() + 600_000).toISOString();
  json(response, 200, {
    ...(await granted(state, found?.sessionId ?? "", "expenses")),
    client_id: "https://client.example/metadata",
    handle_expires_at,
    ...state.changeRedeemed,
  });
};

const consents: Route = async (state, asked, response) => {
  const { token } = JSON.parse(asked.body);
  if (asked.headers.authorization !== `Bearer ${enforcementToken}`) return refusal(response, 401, "unauthorized");
  if (!decodeUnverifiedHopToken(token)) return refusal(response, 400, "invalid_request");
  const data = await Promise.all(
    state.beside.map(async ({ sessionId, scope, expiresAt }) => ({
      ...(await granted(state, sessionId, scope)),
      ...(expiresAt !== undefined && { expires_at: expiresAt }),
    })),
  );
  json(response, 200, { data });
};

const metadata: Route = ({ issuer }, _asked, response) =>
  json(response, 200, {
    issuer,
    token_endpoint: `${issuer}/v1/token/exchange`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    grant_types_supported: [],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ["none"],
    service_documentation: `${issuer}/docs`,
  });

export const routes: Record<string, Route> = {
  "/v1/handles/redeem": redeem,
  "/v1/session/consents": consents,
  "/.well-known/oauth-authorization-server": metadata,
  "/v1/authorize": authorize,
  "/v1/token/exchange": exchange,
  "/v1/token/renew": renew,
  "/v1/token/transaction": mint,
  "/v1/session/targets": targets,
  "/readyz": (_state, _asked, response) => json(response, 200, {}),
};
