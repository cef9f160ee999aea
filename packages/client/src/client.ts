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

/** What a human consents to: a scope, in their own name, for a time. */
export interface Consent {
  readonly scope: string;
  /** The consenting human. */
  readonly userSub: string;
  /** 60-86400; the control plane's default is 3600. */
  readonly ttlSeconds?: number | undefined;
  /** What the human was shown; the consent fails where it is no longer the scope's current policy version. */
  readonly policyVersion?: number | undefined;
}

/** One hop and the request that is sent once it is granted. */
export interface CallRequest extends AuthorizeRequest {
  readonly request: ToolRequest;
}

/**
 * The inline client: takes hops for an agent and asks the control plane's planes (specification: Inline client
 * behaviour). One context serves many calls, also at once: the client renews its token by itself.
 *
 * Its methods throw `ControlPlaneUnavailable` and `ControlPlaneRejected` besides what each names, and a signal's own
 * reason where it aborts. None of them returns or sends a token that was not narrowed.
 */
export class AuthzClient {
  /** Registers agents and reads what they may do. */
  readonly admin: AdminPlane;
  /** Reads what was decided. */
  readonly audit: AuditPlane;
  /** Agents' identities. */
  readonly identity: IdentityPlane;
  readonly #hops: AuthorizePorts;
  readonly #consent: Plane;
  readonly #open: Plane;
  readonly #ports: PlanePorts;
  readonly #fetch: typeof globalThis.fetch;
  readonly #recorder: TraceRecorder | undefined;
  readonly #closing = new AbortController();
  readonly #labeler: Labeler = createLabeler();

  /** @throws {TypeError} for options that cannot be: see each */
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
   * `POST /v1/consent`: roots a session in a human's act.
   *
   * @throws {ControlPlaneUnavailable} for every answer but 201 and 401, with its `status` and `code` (404
   * `scope_not_found`, 409 `policy_recompile_required`, ...)
   */
  async consent({ scope, userSub, ttlSeconds, policyVersion }: Consent, options?: CallOptions): Promise<Session> {
    const body = { scope, userSub, ttlSeconds, policyVersion };
    return this.#consent.ask({ method: "POST", path: "/v1/consent", body, expected: 201 }, sessionOf, options);
  }

  /**
   * Decides one hop and exchanges the context's token for the hop's; for a privileged target it also mints the
   * transaction token that binds `params`. Never the one without the other.
   *
   * @throws {PolicyDenied} for a deny, {TransactionParamsRequired} for a privileged target without `params`,
   * {TypeError} where they cannot be bound; nothing is spent by any of these
   */
  async authorize(context: HopContext, request: AuthorizeRequest, options: CallOptions = {}): Promise<Grant> {
    const snapshot = request.params && snapshotOf(request.params);
    return authorizeHop(this.#hops, context, request, snapshot?.bindable, options.signal);
  }

  /** As `authorize`, and the context for the next recipient: the same session with the narrowed token. */
  async hop(
    context: HopContext,
    request: AuthorizeRequest,
    options?: CallOptions,
  ): Promise<readonly [grant: Grant, next: HopContext]> {
    const grant = await this.authorize(context, request, options);
    return [grant, context.advanced(grant.accessToken)];
  }

  /**
   * As `authorize`, and sends the request with the grant's headers over the caller's. Redirects are answers. `timeout`
   * does not bound the target's answer; the signal does.
   *
   * @throws {TypeError} also where the request cannot be sent as it is, and what `fetch` throws
   */
  async call(context: HopContext, call: CallRequest, options: CallOptions = {}): Promise<Response> {
    const { signal } = options;
    const prepared = prepareRequest(call.request, call.params);
    const { url, init } = prepared.under(await authorizeHop(this.#hops, context, call, prepared.paramsJson, signal));
    return this.#fetch(url, signal ? { ...init, signal } : init);
  }

  /** Labels a value the agent obtained itself; a source that is not among the trusted ones is `untrusted_external`. */
  wrapResult<Value>(value: Value, sourceRef: string, trustedSources?: readonly string[]): LabeledResult<Value> {
    return this.#labeler.wrapResult(value, sourceRef, trustedSources);
  }

  /**
   * Lets labels follow what the decision point makes of a source: the `result_taint` of the tools this manifest declares.
   *
   * @throws {TypeError} where it is no manifest
   */
  useManifest(manifest: AgentManifestDocument): void {
    this.#labeler.useManifest(manifest);
  }

  /** `GET /livez`: resolves where the process is up. @throws {ControlPlaneUnavailable} where not */
  async live(options?: CallOptions): Promise<void> {
    await this.#open.ask({ method: "GET", path: "/livez" }, livenessRead, options);
  }

  /**
   * `GET /readyz`: resolves where it just reached its database and cache store.
   *
   * @throws {ControlPlaneUnavailable} where not; `details.failing` names what it could not reach
   */
  ready(options?: CallOptions): Promise<Readiness> {
    return this.#open.ask({ method: "GET", path: "/readyz" }, readinessRead.partial(), options);
  }

  /** `GET /.well-known/oauth-authorization-server`: the issuer's metadata. */
  metadata(options?: CallOptions): Promise<ServerMetadata> {
    return this.#open.ask({ method: "GET", path: "/.well-known/oauth-authorization-server" }, serverMetadata, options);
  }

  /** `GET /.well-known/jwks.json`: the issuer's public keys (RFC 7517). */
  jwks(options?: CallOptions): Promise<JsonWebKeySet> {
    return this.#open.ask({ method: "GET", path: "/.well-known/jwks.json" }, keySet, options);
  }

  /** `GET /v1/session/targets`: what a decision would allow the context's caller now; it records and spends nothing. */
  targets({ token }: HopContext, query?: PageQuery, options?: CallOptions): Promise<Page<SessionTarget>> {
    const request = { method: "GET", path: "/v1/session/targets", query } as const;
    return createPlane(this.#ports, token).ask(request, sessionTargetPage, options);
  }

  /** Ends renewals, those under way included, and the recorded run. The client takes no further hops. */
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
