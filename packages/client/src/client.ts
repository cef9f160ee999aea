import * as core from "@svc/core";
import { type TraceRecorder, traceRecorder } from "@svc/drift/recorder";
import { createRenewalPool, hopLines, hopsOffer, renewalSource, type StepPorts } from "@svc/hop";
import { type AdminPlane, adminPlane } from "./admin-plane.ts";
import { type AuditPlane, auditPlane } from "./audit-plane.ts";
import { type AuthorizePorts, type AuthorizeRequest, authorizeHop, edgeRecorder } from "./authorize-hop.ts";
import { prepareRequest, snapshotOf, type ToolRequest } from "./authorized-request.ts";
import { dataClassOf } from "./data-class.ts";
import { isUnauthorized } from "./errors.ts";
import { fetchTransport, urlBelow } from "./fetch-transport.ts";
import { type Grant, type HopContext, type Session, sessionOf } from "./hop-context.ts";
import { type IdentityPlane, identityPlane } from "./identity-plane.ts";
import { type LabeledResult, resultTaints } from "./label.ts";
import { type AuthzClientOptions, bearersOf, proverOf, timeoutMsOf, tracePathOf } from "./options.ts";
import {
  type BodyOf,
  type CallOptions,
  createPlane,
  type Page,
  type PageQuery,
  type Plane,
  type PlanePorts,
  type RequestBody,
} from "./plane.ts";

/** A target that a decision would allow now. */
export type SessionTarget = BodyOf<typeof core.sessionTarget>;
/** Readiness, with when housekeeping last ran and the time of the oldest row that is not sealed. */
export type Readiness = RequestBody<typeof core.readinessRead>;
/** The issuer's metadata (RFC 8414 section 2). */
export type ServerMetadata = BodyOf<typeof core.serverMetadata>;
/** Public keys (RFC 7517 section 5). */
export type JsonWebKeySet = BodyOf<typeof core.keySet>;

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
  #declaredTaints: ReturnType<typeof resultTaints> = new Map();

  /** @throws {TypeError} for an invalid option */
  constructor(options: AuthzClientOptions) {
    const { baseUrl, fetch = globalThis.fetch, renewalIdleSeconds = 300, traceScope } = options;
    const { adminToken, auditToken, identityToken } = bearersOf(options);
    const timeoutMs = timeoutMsOf(options);
    const prover = proverOf(options);
    const transport = fetchTransport({ baseUrl, fetch });
    const monotonicMs = () => performance.now();
    const steps: StepPorts = { transport, ...(prover && { prover }), monotonicMs };
    this.#ports = { steps, timeoutMs };
    const planeOf = (bearer: string | undefined) => createPlane(this.#ports, bearer);
    const planes = { admin: planeOf(adminToken), identity: planeOf(identityToken), open: planeOf(undefined) };
    const push = { fetch, urlOf: urlBelow(baseUrl), bearer: identityToken, closed: this.#closing.signal };
    const tracePath = tracePathOf(options);
    this.#recorder = tracePath === undefined ? undefined : traceRecorder(tracePath);
    this.#hops = {
      hop: {
        steps,
        lines: { offer: hopsOffer(transport, monotonicMs), hops: hopLines(transport, monotonicMs) },
        pool: createRenewalPool({
          source: renewalSource(steps, { signal: this.#closing.signal }),
          idleSeconds: renewalIdleSeconds,
        }),
        ...(prover && { assertIdentity: prover.assertIdentity }),
        limits: { stepMs: timeoutMs, hopMs: timeoutMs },
      },
      recordEdge: this.#recorder && edgeRecorder(this.#recorder, traceScope),
    };
    this.#fetch = fetch;
    this.#open = planes.open;
    this.#consent = createPlane(this.#ports, adminToken, isUnauthorized);
    this.admin = adminPlane(planes.admin);
    this.audit = auditPlane(planeOf(auditToken));
    this.identity = identityPlane({ ...planes, push }, prover);
  }

  /**
   * `POST /v1/consent`: starts a session.
   * @throws {ControlPlaneUnavailable} for every status but 201 and 401, with its `status` and `code` (404
   * `scope_not_found`, 409 `no_agent_in_good_standing`, ...)
   */
  async consent({ scope, userSub, ttlSeconds, policyVersion }: Consent, options?: CallOptions): Promise<Session> {
    const body = { scope, userSub, ttlSeconds, policyVersion };
    return this.#consent.create("/v1/consent", sessionOf, options, body);
  }

  /**
   * Decides one hop, exchanges the context's token for the hop's, and for a privileged target mints the transaction
   * token that binds `params`. Without all of these there is no grant.
   * @throws {PolicyDenied} for a deny, {TransactionParamsRequired} for a privileged target without `params`,
   * {TypeError} where they cannot be bound, and what a `dataClass` function throws; none of these spends anything
   */
  async authorize(context: HopContext, request: AuthorizeRequest, options: CallOptions = {}): Promise<Grant> {
    const snapshot = request.params && snapshotOf(request.params);
    const dataClass = dataClassOf(request.dataClass, snapshot?.text);
    return authorizeHop(this.#hops, context, { ...request, dataClass }, snapshot?.bindable, options.signal);
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
   * @throws {TypeError} also for a request that cannot be sent, and what `fetch` throws
   */
  async call(context: HopContext, call: CallRequest, options: CallOptions = {}): Promise<Response> {
    const { signal } = options;
    const { url, sentJson, paramsJson, withGrant } = prepareRequest(call.request, call.params);
    const dataClass = typeof call.dataClass === "string" ? call.dataClass : dataClassOf(call.dataClass, sentJson());
    const init = withGrant(await authorizeHop(this.#hops, context, { ...call, dataClass }, paramsJson, signal));
    return this.#fetch(url, signal ? { ...init, signal } : init);
  }

  /** Labels a value that the agent obtained itself: `untrusted_external` unless its source is trusted. */
  wrapResult<Value>(value: Value, sourceRef: string, trustedSources: readonly string[] = []): LabeledResult<Value> {
    // The manifest prevails: a caller's list cannot lower a declared tool's taint.
    const provenance = this.#declaredTaints.get(sourceRef) ?? core.classifySource(sourceRef, trustedSources);
    return { value, provenance };
  }

  /** Labels what the manifest's tools return by their `result_taint`. @throws {TypeError} where it is no manifest */
  useManifest(manifest: core.AgentManifestDocument): void {
    this.#declaredTaints = resultTaints(manifest);
  }

  /** `GET /livez`: resolves where the process is up. @throws {ControlPlaneUnavailable} */
  async live(options?: CallOptions): Promise<void> {
    await this.#open.get("/livez", core.livenessRead, options);
  }

  /**
   * `GET /readyz`: resolves where it just reached its database and cache store.
   * @throws {ControlPlaneUnavailable} where not; `details.failing` names what it could not reach
   */
  ready(options?: CallOptions): Promise<Readiness> {
    return this.#open.get("/readyz", core.readinessRead.partial(), options);
  }

  /** `GET /.well-known/oauth-authorization-server`: the issuer's metadata. */
  metadata(options?: CallOptions): Promise<ServerMetadata> {
    return this.#open.get("/.well-known/oauth-authorization-server", core.serverMetadata, options);
  }

  /** `GET /.well-known/jwks.json`: the issuer's public keys (RFC 7517). */
  jwks(options?: CallOptions): Promise<JsonWebKeySet> {
    return this.#open.get("/.well-known/jwks.json", core.keySet, options);
  }

  /** `GET /v1/session/targets`: what a decision would allow the context's caller now; records and spends nothing. */
  targets({ token }: HopContext, query?: PageQuery, options?: CallOptions): Promise<Page<SessionTarget>> {
    return createPlane(this.#ports, token).get("/v1/session/targets", core.sessionTargetPage, options, query);
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
