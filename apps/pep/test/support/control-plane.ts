import { randomBytes, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { heartbeatText } from "@svc/test-support/push-text";
import {
  generatePrivateJwk,
  type HopClaims,
  importIssuerKey,
  issueHopToken,
  narrowedClaims,
  siblingClaims,
} from "@svc/tokens";
import {
  type Asked,
  claimsOf,
  consent,
  issuance,
  refusal,
  routes,
  type SessionGrant,
  type State,
  type TargetPolicy,
} from "./control-plane-routes.ts";

/** Responds in place of the double, or returns undefined; a promise delays the response. */
export type Override = (request: Asked, response: ServerResponse) => boolean | undefined | Promise<boolean | undefined>;

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
  /** Members of the answer to a redemption. */
  changeRedeemed: object;
  /** Requests to one path, so far. */
  countOf(path: string): number;
  /** Decisions, each as its request body. */
  decisions(): { target: string; target_kind: string; data_class: string; enforced: boolean; session_id: string }[];
  consent(options?: { ttlSeconds?: number; sessionId?: string }): Promise<{ sessionId: string; token: string }>;
  /** An access token for one resource, of a session in which `planner` acts. */
  grant(resource: string, session?: { sessionId: string }): Promise<{ handle: string; sessionId: string }>;
  /** What one session's calls of a target get instead of `policies`. */
  readonly sessionPolicies: Map<string, TargetPolicy>;
  /** Sessions that a person consented to beside every other one. */
  readonly beside: SessionGrant[];
  /** The token that `agent` would hold after a delegation. */
  delegate(token: string, agent: string): Promise<string>;
  /** One of the tokens that a renewal would return, with some claims changed. */
  sibling(token: string, change?: Partial<HopClaims>): Promise<string>;
  /** The token that an exchange would return, with some claims changed. */
  narrowed(form: URLSearchParams, change: Partial<HopClaims>): Promise<string>;
  /** Writes to every reader of the push. */
  push(text: string): void;
  /** Of the readers of the push, in the order of their connections. */
  readonly pushed: ServerResponse[];
  close(): Promise<void>;
}

export const pushPath = "/v1/identity/revocations/stream";

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

export async function controlPlaneDouble(): Promise<ControlPlaneDouble> {
  const key = await importIssuerKey(await generatePrivateJwk());
  const asked: Asked[] = [];
  const policies = new Map<string, TargetPolicy>();
  const state: State = {
    ...{ key, issuer: "", policies, sessionPolicies: new Map(), sessions: new Map(), spent: new Set() },
    ...{ allows: new Map(), handles: new Map(), beside: [], changeRedeemed: {} },
  };
  const pushed: ServerResponse[] = [];
  const follow = (response: ServerResponse): void => {
    response.writeHead(200, { "content-type": "text/event-stream" }).write(heartbeatText("1.1"));
    pushed.push(response);
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? "";
    const seen = { path, headers: request.headers, body: await textOf(request) };
    asked.push(seen);
    if (await double.override?.(seen, response)) return;
    if (path.startsWith(pushPath)) return follow(response);
    const route = routes[path.split("?")[0] ?? ""];
    if (route) await route(state, seen, response);
    else refusal(response, 404, "route_not_found");
  };
  const server = createServer((request, response) => {
    serve(request, response).catch((error) => {
      // Else the test would wait for an answer, and not report the error.
      response.destroy();
      throw error;
    });
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
    get changeRedeemed() {
      return state.changeRedeemed;
    },
    set changeRedeemed(change) {
      state.changeRedeemed = change;
    },
    countOf: (path) => asked.filter((each) => each.path.split("?")[0] === path).length,
    decisions: () => asked.filter(({ path }) => path === "/v1/authorize").map(({ body }) => JSON.parse(body)),
    consent: (options) => consent(state, options),
    async grant(resource, session) {
      const { sessionId } = session ?? (await consent(state));
      const handle = `svc_at_${randomBytes(32).toString("base64url")}`;
      state.handles.set(handle, { sessionId, resource });
      return { handle, sessionId };
    },
    sessionPolicies: state.sessionPolicies,
    beside: state.beside,
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
    push(text) {
      for (const response of pushed) response.write(text);
    },
    pushed,
    close: () => closed(server),
  };
  return double;
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
