import {
  type AgentManifestDocument,
  keySet,
  livenessRead,
  readinessRead,
  serverMetadata,
  sessionTargetPage,
} from "@svc/core";
import { type TraceRecorder, traceRecorder } from "@svc/drift/recorder";
import { createRenewalPool, renewalSource, type StepPorts } from "@svc/hop";
import { type AdminPlane, adminPlane } from "./admin-plane.ts";
import { type AuditPlane, auditPlane } from "./audit-plane.ts";
import { type AuthorizePorts, type AuthorizeRequest, authorizeHop } from "./authorize-hop.ts";
import { prepareRequest, type ToolRequest } from "./authorized-request.ts";
import type { JsonWebKeySet, Readiness, ServerMetadata, SessionTarget } from "./bodies.ts";
import { snapshotOf } from "./bound-params.ts";
import { createEdgeLog } from "./edge-log.ts";
import { fetchTransport } from "./fetch-transport.ts";
import type { Grant } from "./grant.ts";
import type { HopContext } from "./hop-context.ts";
import { type IdentityPlane, identityPlane } from "./identity-plane.ts";
import { createLabeler, type LabeledResult, type Labeler } from "./label.ts";
import { type AuthzClientOptions, bearersOf, proverOf, timeoutMsOf, tracePathOf } from "./options.ts";
import type { Page, PageQuery } from "./pages.ts";
import { type CallOptions, consentErrorOf, createPlane, type Plane, type PlanePorts } from "./plane.ts";
import { type Session, sessionOf } from "./session.ts";

/** Consent of a human to a scope, for a time. */
export interface Consent {
  readonly scope: string;
  /** The consenting human. */
  readonly userSub: string;
  /** 60-86400; the control plane's default is 3600. */
  readonly ttlSeconds?: number | undefined;
  /** The policy version shown to the human; the consent fails where it is no longer the current one. */
  readonly policyVersion?: number | undefined;
}

/** One hop, and the request to send with its grant. */
export interface CallRequest extends AuthorizeRequest {
  readonly request: ToolRequest;
}

/**
 * The inline client: takes hops for an agent and calls the control plane's planes (docs/reference/client.md#behaviour).
 * One context serves many calls, also concurrent ones: the client renews its token.
 *
 * Every method also throws `ControlPlaneUnavailable`, `ControlPlaneRejected`, and after an abort the signal's reason.
 */
export class AuthzClient {
  /** Registers agents, reads what they may do, revokes, blocks and rotates keys. */
  readonly admin: AdminPlane;
  /** Reads the record. */
  readonly audit: AuditPlane;
  /** Reads, enrolls and revokes agents' identities. */
  readonly identity: IdentityPlane;
  readonly #hops: AuthorizePorts;
  readonly #consent: Plane;
  readonly #open: Plane;
  readonly #ports: PlanePorts;
  readonly #fetch: typeof globalThis.fetch;
  readonly #recorder: TraceRecorder | undefined;
  readonly #closing = new AbortController();
  readonly #labeler: Labeler = createLabeler();

  /** @throws {TypeError} for an invalid option */
  constructor(options: AuthzClientOptions) {
    const { baseUrl, fetch = globalThis.fetch, renewalIdleSeconds = 300, traceScope } = options;
    const { adminToken, auditToken, identityToken } = bearersOf(options);
    const timeoutMs = timeoutMsOf(options);
    const prover = proverOf(options);
    const steps: StepPorts = {
      transport: fetchTransport({ baseUrl, fetch }),
      ...(prover && { prover }),
      monotonicMs: () => performance.now(),
    };
    this.#ports = { steps, timeoutMs };
    const planeOf = (bearer: string | undefined) => createPlane(this.#ports, bearer);
    const planes = { admin: planeOf(adminToken), identity: planeOf(identityToken), open: planeOf(undefined) };
    const tracePath = tracePathOf(options);
    this.#recorder = tracePath === undefined ? undefined : traceRecorder(tracePath);
    this.#hops = {
      hop: {
        steps,
        pool: createRenewalPool({
          source: renewalSource(steps, { signal: this.#closing.signal }),
          idleSeconds: renewalIdleSeconds,
        }),
        ...(prover && { assertIdentity: prover.assertIdentity }),
        limits: { stepMs: timeoutMs, hopMs: timeoutMs },
      },
      edges: this.#recorder && createEdgeLog(this.#recorder, traceScope),
    };
    this.#fetch = fetch;
    this.#open = planes.open;
    this.#consent = createPlane(this.#ports, adminToken, consentErrorOf);
    this.admin = adminPlane(planes.admin);
    this.audit = auditPlane(planeOf(auditToken));
    this.identity = identityPlane(planes, prover);
  }

  /**
   * `POST /v1/consent`: starts a session.
   *
   * @throws {ControlPlaneUnavailable} for every status but 201 and 401, with its `status` and `code` (404
   * `scope_not_found`, 409 `policy_recompile_required`, ...)
   */
  async consent({ scope, userSub, ttlSeconds, policyVersion }: Consent, options?: CallOptions): Promise<Session> {
    const body = { scope, userSub, ttlSeconds, policyVersion };
    return this.#consent.request({ method: "POST", path: "/v1/consent", body, expected: 201 }, sessionOf, options);
  }

  /**
   * Decides one hop, exchanges the context's token for the hop's, and for a privileged target mints the transaction
   * token that binds `params`. Without all of these there is no grant.
   *
   * @throws {PolicyDenied} for a deny, {TransactionParamsRequired} for a privileged target without `params`,
   * {TypeError} where they cannot be bound; none of these spends anything
   */
  async authorize(context: HopContext, request: AuthorizeRequest, options: CallOptions = {}): Promise<Grant> {
    const snapshot = request.params && snapshotOf(request.params);
    return authorizeHop(this.#hops, context, request, snapshot?.bindable, options.signal);
  }

  /** As `authorize`; also returns the next recipient's context: the same session with the narrowed token. */
  async hop(
    context: HopContext,
    request: AuthorizeRequest,
    options?: CallOptions,
  ): Promise<readonly [grant: Grant, next: HopContext]> {
    const grant = await this.authorize(context, request, options);
    return [grant, context.advanced(grant.accessToken)];
  }

  /**
   * As `authorize`; then sends the request, in which the grant's headers replace the caller's. A redirect is returned.
   * Only the signal limits the target's time, `timeout` does not.
   *
   * @throws {TypeError} also for a request that cannot be sent, and what `fetch` throws
   */
  async call(context: HopContext, call: CallRequest, options: CallOptions = {}): Promise<Response> {
    const { signal } = options;
    const prepared = prepareRequest(call.request, call.params);
    const { url, init } = prepared.withGrant(
      await authorizeHop(this.#hops, context, call, prepared.paramsJson, signal),
    );
    return this.#fetch(url, signal ? { ...init, signal } : init);
  }

  /** Labels a value that the agent obtained itself: `untrusted_external` unless its source is trusted. */
  wrapResult<Value>(value: Value, sourceRef: string, trustedSources?: readonly string[]): LabeledResult<Value> {
    return this.#labeler.wrapResult(value, sourceRef, trustedSources);
  }

  /**
   * From now on the tools that the manifest declares are labelled by their `result_taint`.
   *
   * @throws {TypeError} where it is no manifest
   */
  useManifest(manifest: AgentManifestDocument): void {
    this.#labeler.useManifest(manifest);
  }

  /** `GET /livez`: resolves where the process is up. @throws {ControlPlaneUnavailable} */
  async live(options?: CallOptions): Promise<void> {
    await this.#open.request({ method: "GET", path: "/livez" }, livenessRead, options);
  }

  /**
   * `GET /readyz`: resolves where it just reached its database and cache store.
   *
   * @throws {ControlPlaneUnavailable} where not; `details.failing` names what it could not reach
   */
  ready(options?: CallOptions): Promise<Readiness> {
    return this.#open.request({ method: "GET", path: "/readyz" }, readinessRead.partial(), options);
  }

  /** `GET /.well-known/oauth-authorization-server`: the issuer's metadata. */
  metadata(options?: CallOptions): Promise<ServerMetadata> {
    return this.#open.request(
      { method: "GET", path: "/.well-known/oauth-authorization-server" },
      serverMetadata,
      options,
    );
  }

  /** `GET /.well-known/jwks.json`: the issuer's public keys (RFC 7517). */
  jwks(options?: CallOptions): Promise<JsonWebKeySet> {
    return this.#open.request({ method: "GET", path: "/.well-known/jwks.json" }, keySet, options);
  }

  /** `GET /v1/session/targets`: what a decision would allow the context's caller now; records and spends nothing. */
  targets({ token }: HopContext, query?: PageQuery, options?: CallOptions): Promise<Page<SessionTarget>> {
    const request = { method: "GET", path: "/v1/session/targets", query } as const;
    return createPlane(this.#ports, token).request(request, sessionTargetPage, options);
  }

  /** Ends all renewals and the recorded run. Later calls fail. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#hops.hop.pool.close();
    await this.#recorder?.close();
  }

  /** For `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
