import {
  bindParamsValue,
  decodeUnverifiedHopToken,
  type HopClaims,
  hopTokenLifetimeSeconds,
  isNarrowed,
  issueTransactionToken,
  siblingClaims,
  transactionClaims,
} from "@svc/tokens";
import { freshJti, issuerKey, narrowed, rootClaims, sessionId, signed } from "../../../hop/test/support/tokens.ts";

export interface SentRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string;
}

export type Route = (request: SentRequest) => Response | Promise<Response>;

export const baseUrl = "https://control.test";
export const toolUrl = "https://tool.test/entries";

export const json = (status: number, body: unknown): Response => Response.json(body, { status });
export const refused = (status: number, code: string, details?: object): Response =>
  json(status, { error: { code, message: `refused: ${code}` }, ...(details && { details }) });

/** What a target is, where it is not a plain tool that is allowed. */
export interface FakeTarget {
  readonly privileged?: boolean;
  readonly deny?: string;
  readonly consentable?: readonly string[];
}

/**
 * A control plane in memory, over `fetch`, with the single use and the tokens of a real one, and a tool that keeps what
 * it received. Any route can be replaced, by method and path.
 */
export class FakePlane {
  readonly sent: SentRequest[] = [];
  readonly toolReceived: SentRequest[] = [];
  readonly replies = new Map<string, Route>();
  readonly targets = new Map<string, FakeTarget>();
  readonly spent = new Set<string>();
  readonly actions = new Set<string>();
  #serial = 0;

  readonly fetch: typeof globalThis.fetch = async (input, init = {}) => {
    init.signal?.throwIfAborted();
    const request = {
      method: init.method ?? "GET",
      url: new URL(String(input)),
      headers: new Headers(init.headers),
      body: String(init.body ?? ""),
    };
    if (request.url.origin !== baseUrl) {
      this.toolReceived.push(request);
      return this.replies.get("tool")?.(request) ?? json(200, { seen: request.body });
    }
    this.sent.push(request);
    const key = `${request.method} ${request.url.pathname}`;
    const route = this.replies.get(key) ?? this.#routes[key];
    return route ? answered(route(request), init.signal) : refused(404, "route_not_found");
  };

  /** Requested paths, in order. */
  get asked(): string[] {
    return this.sent.map(({ url }) => url.pathname);
  }

  bodyOf(path: string): Record<string, unknown> {
    const request = this.sent.findLast(({ url }) => url.pathname === path);
    if (!request) throw new Error(`${path} was not asked`);
    const isForm = request.headers.get("content-type") === "application/x-www-form-urlencoded";
    return isForm ? Object.fromEntries(new URLSearchParams(request.body)) : JSON.parse(request.body);
  }

  readonly #routes: Readonly<Record<string, Route>> = {
    "POST /v1/consent": async (request) => {
      const { scope, user_sub } = JSON.parse(request.body);
      return json(201, {
        session_id: sessionId,
        root_grant: await signed(rootClaims()),
        policy_version: 3,
        scope,
        user_sub,
        hop_budget: 4,
        expires_at: "2026-01-01T01:00:00.000Z",
      });
    },
    "POST /v1/token/renew": async (request) => {
      const claims = claimsOf(bearerOf(request));
      if (!this.#spend(claims)) return refused(409, "token_spent");
      const { count } = JSON.parse(request.body);
      const siblings = Array.from({ length: count }, () => siblingClaims(claims, "trusted_internal", issuance()));
      return json(200, { tokens: await Promise.all(siblings.map(signed)), expires_in: hopTokenLifetimeSeconds });
    },
    "POST /v1/authorize": (request) => {
      const claims = claimsOf(bearerOf(request));
      const asked = JSON.parse(request.body);
      const { deny = null, privileged = false, consentable } = this.targets.get(asked.target) ?? {};
      const action = `0197a000-0000-7000-8000-${String(++this.#serial).padStart(12, "0")}`;
      if (!deny) this.actions.add(action);
      return json(200, {
        action_id: action,
        decision: deny ? "deny" : "allow",
        deny_reason: deny,
        recoverable: deny === "SCOPE_NOT_CONSENTED",
        ...(consentable && { consentable_scopes: consentable }),
        enforced: asked.enforced,
        hop: claims.hop,
        acting_agent: claims.aud,
        target: asked.target,
        target_kind: asked.target_kind,
        data_class: asked.data_class,
        privileged,
        transaction_required: privileged,
        taint: asked.taint ?? claims.taint,
        taint_source: asked.taint === "untrusted_external" ? "declared" : null,
        policy_version: 3,
        guarantee_level: "network",
        decided_at: "2026-01-01T00:00:00.000Z",
      });
    },
    "POST /v1/token/exchange": async (request) => {
      const form = new URLSearchParams(request.body);
      const [resource = "", dataClass = "", action = ""] = ["resource", "scope", "action_id"].map(
        (name) => form.get(name) ?? "",
      );
      const subject = claimsOf(form.get("subject_token") ?? "");
      if (!this.actions.delete(action) || !this.#spend(subject)) {
        return json(400, { error: "invalid_grant", error_description: "spent" });
      }
      const { privileged = false } = this.targets.get(resource) ?? {};
      const targetKind = /[:/]/.test(resource) ? "tool" : "agent";
      const claims = narrowed(subject, resource, { targetKind, dataClass, privileged, action });
      return json(200, {
        access_token: await signed(claims),
        issued_token_type: "urn:ietf:params:oauth:token-type:jwt",
        token_type: "Bearer",
        expires_in: 60,
      });
    },
    "POST /v1/token/transaction": async (request) => {
      const token = claimsOf(bearerOf(request));
      const binding = bindParamsValue(JSON.parse(request.body).params);
      if (!isNarrowed(token) || !binding.ok) return refused(422, "params_unbindable");
      const claims = transactionClaims(token, binding.paramsHash, { jti: freshJti(), nowSeconds: Date.now() / 1000 });
      return json(200, {
        transaction_token: await issueTransactionToken(issuerKey, claims),
        issued_token_type: "urn:ietf:params:oauth:token-type:txn_token",
        token_type: "N_A",
        expires_in: 60,
        action_id: token.actionId,
      });
    },
    "GET /livez": () => json(200, { status: "ok" }),
    "GET /readyz": () => json(200, { status: "ok" }),
  };

  #spend({ jti }: HopClaims): boolean {
    if (this.spent.has(jti)) return false;
    this.spent.add(jti);
    return true;
  }
}

/** As with `fetch`, an abort ends the wait for a response. */
async function answered(
  reply: Response | Promise<Response>,
  signal: AbortSignal | null | undefined,
): Promise<Response> {
  if (!signal) return reply;
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([reply, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

export const bearerOf = ({ headers }: Pick<SentRequest, "headers">): string =>
  headers.get("authorization")?.replace(/^Bearer /, "") ?? "";

function claimsOf(token: string): HopClaims {
  const claims = decodeUnverifiedHopToken(token);
  if (!claims) throw new Error("not a hop token");
  return claims;
}

const issuance = () => {
  const nowSeconds = Date.now() / 1000;
  return { jti: freshJti(), nowSeconds, sessionExpiresAtSeconds: nowSeconds + 3600 };
};
