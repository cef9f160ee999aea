import { rememberVerified } from "@svc/tokens";
import type { Admission } from "./admission.ts";
import { admit } from "./admit.ts";
import { identityView } from "./identity-view.ts";
import { fixedKeys, remoteKeys } from "./issuer-keys.ts";
import { observed } from "./observe.ts";
import { type AdmitRequest, checkOptions, defaultFreshnessSeconds, type VerifierOptions } from "./options.ts";
import { defaultPorts, type VerifierPorts } from "./ports.ts";
import { memoryReplayStore } from "./replay-store.ts";
import { neverThrowing, type VerifierLogRecord, type VerifierSink } from "./sink.ts";

/** Admits the calls of one resource server. */
export interface Verifier {
  /**
   * Verifies a call without a request to another server. A transaction is admitted once.
   *
   * @throws {AdmissionRefused} and the replay store's error: the call must not be served
   */
  admit(request: AdmitRequest): Promise<Admission>;
  /**
   * Resolves after the first attempts to read keys and view, and after a refresh under way. `admit` waits for the first
   * attempts itself.
   *
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
 *
 * @throws {TypeError} for options that contradict each other
 */
export function createVerifier(options: VerifierOptions): Verifier {
  checkOptions(options);
  const { issuer, audience, freshnessSeconds = defaultFreshnessSeconds, identityRequired = false } = options;
  const ports = portsOf(options);
  const sink = neverThrowing(options.sink ?? {});
  const warn = warningTo(sink);

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
        });
  const deps = {
    ...{ issuer, audience, keys, view, freshnessSeconds, identityRequired, now: ports.now },
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

function portsOf(options: VerifierOptions): VerifierPorts {
  const { fetch, now, monotonicMs, random, after } = { ...defaultPorts, ...options };
  return { fetch, now, monotonicMs, random, after };
}

const warningTo =
  (sink: Required<VerifierSink>) =>
  (message: VerifierLogRecord["message"]) =>
  (error: unknown): void => {
    const errorType = error instanceof Error ? error.name : "Error";
    sink.log({ level: "warn", message, fields: { "authz.component": "verifier", "error.type": errorType } });
  };
