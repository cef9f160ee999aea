import { type NarrowedClaims, rememberVerified } from "@svc/tokens";
import { type Admission, AdmissionRefused, isTransactionRejection } from "./admission.ts";
import { admit } from "./admit.ts";
import { type IdentityView, identityView } from "./identity-view.ts";
import { fixedKeys, type IssuerKeys, remoteKeys } from "./issuer-keys.ts";
import { type AdmitRequest, checkOptions, defaultFreshnessSeconds, type VerifierOptions } from "./options.ts";
import { defaultPorts, type VerifierPorts } from "./ports.ts";
import { memoryReplayStore } from "./replay-store.ts";
import { type AdmitAttributes, neverThrowing, type VerifierLogRecord, type VerifierSink } from "./sink.ts";

/** Admits the calls of one resource server. */
export interface Verifier {
  /**
   * Verifies a call without a request to another server. A transaction is admitted once.
   * @throws {AdmissionRefused} and the replay store's error: the call must not be served
   */
  admit(request: AdmitRequest): Promise<Admission>;
  /**
   * Resolves after the first attempts to read keys and view, and after a refresh under way. `admit` waits for the first
   * attempts itself.
   * @throws {KeyRefused} where `jwks` is no key set
   */
  ready(): Promise<void>;
  /** Stops all refreshing. */
  close(): void;
}

/** Verified signatures cached; everything else is checked at every use. */
const cachedTokens = 1_024;

/**
 * Creates a verifier for one resource server (docs/reference/verifier.md#freshness), which starts to read keys and view.
 * @throws {TypeError} for options that contradict each other
 */
export function createVerifier(options: VerifierOptions): Verifier {
  checkOptions(options);
  const { issuer, audience, freshnessSeconds = defaultFreshnessSeconds, identityRequired = false } = options;
  const ports = portsOf(options);
  const sink = neverThrowing(options.sink ?? {});
  const warn = (message: VerifierLogRecord["message"]) => (error: unknown) =>
    sink.log({ level: "warn", message, fields: { "authz.component": "verifier", "error.type": nameOf(error) } });

  const keys =
    options.jwksUrl === undefined
      ? fixedKeys(options.jwks)
      : remoteKeys(ports, { url: options.jwksUrl, freshnessSeconds, onFailure: warn("issuer keys not refreshed") });
  const view =
    options.identityView === "off"
      ? undefined
      : identityView(ports, options.identityView, freshnessSeconds, {
          onAge: (seconds) => sink.gauge("svc_identity_view_age_seconds", seconds),
          onFailure: warn("identity view not refreshed"),
          onPushFailure: warn("identity view not refreshed"),
        });
  const deps = {
    ...{ issuer, audience, keys: withoutRemoved(keys, view), view, freshnessSeconds, identityRequired, now: ports.now },
    verifyHop: rememberVerified("hop", { capacity: cachedTokens }).verify,
    replayStore: options.replayStore ?? memoryReplayStore(ports),
  };

  return {
    admit: (request) => observed(sink, ports, (onVerified) => admit(deps, request, onVerified)),
    ready: async () => {
      await Promise.all([keys.ready, view?.ready, keys.underWay(), view?.underWay()]);
    },
    close: () => {
      keys.stop();
      view?.stop();
    },
  };
}

/** Without the keys that the push reported as removed. */
const withoutRemoved = (keys: IssuerKeys, view: IdentityView | undefined): IssuerKeys => ({
  ...keys,
  lookup: { get: (kid) => (view?.pushed.isRemovedKey(kid) ? undefined : keys.lookup.get(kid)) },
});

function portsOf(options: VerifierOptions): VerifierPorts {
  const { fetch, now, monotonicMs, random, after } = { ...defaultPorts, ...options };
  return { fetch, now, monotonicMs, random, after };
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : "Error");

/** Emits the span and counts of one admission, and logs a refusal (docs/reference/verifier.md#telemetry). */
async function observed(
  sink: Required<VerifierSink>,
  { now, monotonicMs }: VerifierPorts,
  admitting: (onVerified: (claims: NarrowedClaims) => void) => Promise<Admission>,
): Promise<Admission> {
  const startedAtMs = now();
  const startedMs = monotonicMs();
  let attributes: AdmitAttributes = {};
  try {
    const admission = await admitting((claims) => {
      attributes = attributesOf(claims);
    });
    sink.count("svc_admissions", { result: "admitted" });
    return admission;
  } catch (error) {
    attributes = { ...attributes, "error.type": nameOf(error) };
    report(sink, error, attributes);
    throw error;
  } finally {
    sink.span({ name: "verify.admit", startedAtMs, durationMs: monotonicMs() - startedMs, attributes });
  }
}

const attributesOf = (claims: NarrowedClaims): AdmitAttributes => ({
  "authz.action_id": claims.actionId,
  "authz.session_id": claims.sessionId,
  "authz.hop": claims.hop,
  "authz.target_kind": claims.targetKind,
  "authz.data_class": claims.scope,
  "authz.privileged": claims.privileged,
  "authz.taint": claims.taint,
  "authz.policy_version": claims.policyVersion,
});

function report(sink: Required<VerifierSink>, error: unknown, attributes: AdmitAttributes): void {
  sink.count("svc_admissions", { result: "refused" });
  const cause = error instanceof AdmissionRefused ? error.cause : undefined;
  if (cause && isTransactionRejection(cause)) sink.count("svc_transaction_rejections", { cause });
  // A refusal concerns the caller; a stale view and a failing store concern the operator.
  const needsHuman = cause === undefined || cause === "stale_identity_view";
  const logged = ["authz.action_id", "authz.session_id", "authz.hop", "error.type"] as const;
  sink.log({
    level: needsHuman ? "warn" : "info",
    message: "admission refused",
    fields: {
      "authz.component": "verifier",
      ...Object.fromEntries(logged.flatMap((key) => (attributes[key] === undefined ? [] : [[key, attributes[key]]]))),
    },
  });
}
