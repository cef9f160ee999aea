import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { DefinitionPin, Taint } from "@svc/core";
import {
  bindParams,
  decodeUnverifiedHopToken,
  generatePrivateJwk,
  type HopClaims,
  importIssuerKey,
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
  readonly privileged?: boolean;
  readonly taint?: Taint;
  readonly acceptsTaint?: boolean;
  /** What the session pinned. */
  readonly definition?: DefinitionPin | undefined;
}

/** Responds in place of the double, or returns undefined; a promise delays the response. */
export type Override = (request: Asked, response: ServerResponse) => boolean | undefined | Promise<boolean | undefined>;

export interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/**
 * A double of the control plane: real tokens, single use and the wire's bodies, but decisions out of a table, and
 * any answer that a test wants in place of its own. What it cannot show is what the real one decides.
 */
export interface ControlPlaneDouble {
  readonly url: string;
  readonly issuer: string;
  readonly policies: Map<string, TargetPolicy>;
  readonly asked: Asked[];
  override: Override | undefined;
  /** Requests to one path, so far. */
  countOf(path: string): number;
  /** Decisions, each as its request body. */
  decisions(): { target: string; data_class: string; enforced: boolean; session_id: string }[];
  consent(options?: { ttlSeconds?: number; sessionId?: string }): Promise<{ sessionId: string; token: string }>;
  /** The token that `agent` would hold after a delegation. */
  delegate(token: string, agent: string): Promise<string>;
  /** One of the tokens that a renewal would return, with some claims changed. */
  sibling(token: string, change?: Partial<HopClaims>): Promise<string>;
  /** The token that an exchange would return, with some claims changed. */
  narrowed(form: URLSearchParams, change: Partial<HopClaims>): Promise<string>;
  close(): Promise<void>;
}

const json = (response: ServerResponse, status: number, body: unknown) => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
};
const refusal = (response: ServerResponse, status: number, code: string, details?: unknown) =>
  json(response, status, { error: { code, message: "refused" }, ...(details !== undefined && { details }) });

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

export async function controlPlaneDouble(): Promise<ControlPlaneDouble> {
  const key = await importIssuerKey(await generatePrivateJwk());
  const asked: Asked[] = [];
  const policies = new Map<string, TargetPolicy>();
  const state: State = { key, issuer: "", policies, sessions: new Map(), spent: new Set(), allows: new Map() };
  const server = createServer(async (request, response) => {
    const path = request.url ?? "";
    const seen = { path, headers: request.headers, body: await textOf(request) };
    asked.push(seen);
    if (await double.override?.(seen, response)) return;
    const route = routes[path.split("?")[0] ?? ""];
    if (route) await route(state, seen, response);
    else refusal(response, 404, "route_not_found");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  state.issuer = url;
  const double: ControlPlaneDouble = {
    url,
    issuer: url,
    policies,
    asked,
    override: undefined,
    countOf: (path) => asked.filter((each) => each.path.split("?")[0] === path).length,
    decisions: () => asked.filter(({ path }) => path === "/v1/authorize").map(({ body }) => JSON.parse(body)),
    consent: (options) => consent(state, options),
    delegate: async (token, agent) => {
      const claims = claimsOf(token);
      const allow = {
        actionId: randomUUID(),
        target: agent,
        targetKind: "agent",
        dataClass: "finance",
        privileged: false,
        taint: "trusted_internal",
      } as const;
      return issueHopToken(key, narrowedClaims(claims, allow, issuance(state, claims)));
    },
    sibling: async (token, change = {}) => {
      const claims = claimsOf(token);
      return issueHopToken(key, { ...siblingClaims(claims, "trusted_internal", issuance(state, claims)), ...change });
    },
    narrowed: async (form, change) => {
      const claims = claimsOf(form.get("subject_token") ?? "");
      const allow = {
        actionId: form.get("action_id") ?? "",
        target: form.get("resource") ?? "",
        dataClass: form.get("scope") ?? "",
        targetKind: "tool",
        privileged: false,
        taint: "trusted_internal",
      } as const;
      return issueHopToken(key, { ...narrowedClaims(claims, allow, issuance(state, claims)), ...change });
    },
    close: () => closed(server),
  };
  return double;
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

interface State {
  readonly key: SigningKey;
  issuer: string;
  readonly policies: Map<string, TargetPolicy>;
  /** Session to its end, in seconds. */
  readonly sessions: Map<string, number>;
  readonly spent: Set<string>;
  readonly allows: Map<string, { target: string; dataClass: string; privileged: boolean; taint: Taint }>;
}

const seconds = () => Date.now() / 1000;
const issuance = (state: State, { sessionId }: HopClaims) => ({
  jti: randomUUID(),
  nowSeconds: seconds(),
  sessionExpiresAtSeconds: state.sessions.get(sessionId) ?? seconds() + 3600,
});

async function consent(
  state: State,
  { ttlSeconds = 3600, sessionId = randomUUID() }: { ttlSeconds?: number; sessionId?: string } = {},
) {
  const sessionExpiresAtSeconds = seconds() + ttlSeconds;
  state.sessions.set(sessionId, sessionExpiresAtSeconds);
  const facts = { issuer: state.issuer, userSub: "human-canary", scope: "expenses", sessionId, policyVersion: 1 };
  const claims = rootGrantClaims(facts, { jti: randomUUID(), nowSeconds: seconds(), sessionExpiresAtSeconds });
  return { sessionId, token: await issueHopToken(state.key, claims) };
}

function claimsOf(token: string): HopClaims {
  const claims = decodeUnverifiedHopToken(token);
  if (!claims) throw new Error("no hop token");
  return claims;
}

const bearerOf = ({ headers }: Asked): HopClaims | undefined => {
  const claims = decodeUnverifiedHopToken((headers.authorization ?? "").replace("Bearer ", ""));
  return claims && claims.exp > seconds() ? claims : undefined;
};

type Route = (state: State, asked: Asked, response: ServerResponse) => Promise<void> | void;

const authorize: Route = (state, asked, response) => {
  const claims = bearerOf(asked);
  const body = JSON.parse(asked.body);
  if (!claims || claims.sessionId !== body.session_id) return refusal(response, 401, "unauthorized");
  const policy = state.policies.get(body.target) ?? { denyReason: "TARGET_NOT_DECLARED" };
  const isAllowed = policy.denyReason === undefined;
  const actionId = randomUUID();
  const { privileged = false, taint = "trusted_internal" } = policy;
  if (isAllowed) state.allows.set(actionId, { target: body.target, dataClass: body.data_class, privileged, taint });
  json(response, 200, {
    action_id: actionId,
    decision: isAllowed ? "allow" : "deny",
    deny_reason: policy.denyReason ?? null,
    recoverable: policy.denyReason === "SCOPE_NOT_CONSENTED",
    ...(policy.consentableScopes && { consentable_scopes: policy.consentableScopes }),
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
  if (state.policies.get(allow.target)?.denyReason !== undefined) return invalid(403, "invalid_target");
  state.spent.add(claims.jti);
  state.allows.delete(form.get("action_id") ?? "");
  const spent = { actionId: form.get("action_id") ?? "", targetKind: "tool", ...allow } as const;
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
  if (!bearerOf(asked)) return refusal(response, 401, "unauthorized");
  const allowed = [...state.policies].filter(([, policy]) => policy.denyReason === undefined);
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

const routes: Record<string, Route> = {
  "/v1/authorize": authorize,
  "/v1/token/exchange": exchange,
  "/v1/token/renew": renew,
  "/v1/token/transaction": mint,
  "/v1/session/targets": targets,
  "/readyz": (_state, _asked, response) => json(response, 200, {}),
};
