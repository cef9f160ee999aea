import type { AdministrativeEventKind } from "@svc/core";
import type { Span, Telemetry, TelemetryEvent, TraceHeaders } from "@svc/telemetry";
import type { Completed } from "../commands/identity.ts";
import { hopEvents } from "./hop-events.ts";

const administered = {
  consent_granted: "a person consented",
  consent_refused: "a person refused a consent",
  session_revoked: "sessions were ended",
  block_set: "an emergency block was set",
  block_lifted: "an emergency block was lifted",
  key_rotated: "an issuer key was rotated in",
  key_removed: "an issuer key was removed",
  issuer_epoch_raised: "the issuer epoch was raised",
  signed_in: "a person signed in",
  sign_in_ended: "sign-ins were ended",
} as const satisfies Partial<Record<AdministrativeEventKind, string>>;

type Event<M extends string> = TelemetryEvent<"control_plane", M>;
type LogOf<M extends string> = NonNullable<Event<M>["log"]>;

/** One function per event makes its metric, span and log line. No other code counts or logs. */
export type Events = ReturnType<typeof createEvents>;

/** Of a hop endpoint. Each request has one, which ends its span. Only a renewal has no span. */
export interface HopEvents<Result> {
  started(inbound: TraceHeaders): Span | undefined;
  answered(span: Span | undefined, result: Result): void;
  /** It did not reach its command: no bearer, over its rate, a malformed body. */
  malformed(span: Span | undefined): void;
  unavailable(span: Span | undefined, error: unknown): void;
}

export function createEvents(telemetry: Telemetry<"control_plane">) {
  const failed =
    <M extends string>(...log: LogOf<M>) =>
    (error: unknown) =>
      telemetry.emit<M>({ error, log });
  const noticed =
    <M extends string>(...log: LogOf<M>) =>
    () =>
      telemetry.emit<M>({ log });
  return {
    /** Log lines of `work` carry the span's ids. */
    within: <T>(span: Span | undefined, work: () => T): T => (span ? telemetry.within(span, work) : work()),
    ...hopEndpoints(telemetry),

    completionAnswered: (result: Completed) => telemetry.emit(completionEvent(result)),
    agentRevoked: () => telemetry.emit({ count: { svc_revocations: 1 }, log: ["info", "agent revoked"] }),
    identityProviderUnavailable: failed("error", "the identity provider did not answer; no agent was enrolled"),
    signInUnavailable: failed(
      "error",
      "a sign-in failed: the identity provider did not answer, or refuses this service",
    ),
    /** A stranger can cause it. */
    signInRefused: failed("info", "a sign-in was refused: its callback or its ID token is not its own"),

    chainRead: (result: "complete" | "broken" | "not_found", seconds: number) =>
      telemetry.emit({
        count: { svc_chain_queries: { result } },
        observe: { svc_chain_query_duration_seconds: seconds },
        log: ["debug", "chain read"],
      }),
    /** The audit has the details. */
    administered: (act: keyof typeof administered, sessionId?: string) =>
      telemetry.emit({ facts: { "authz.session_id": sessionId }, log: ["info", administered[act]] }),
    requestFailed: failed("error", "a request failed"),
    consentWebhookFailed: failed("warn", "the consent webhook was not told that a person is asked"),
    storeUnavailable: failed("error", "a store cannot serve"),
    standbySilent: failed("warn", "the standby of the audit reads does not answer; the primary serves them"),
    certificateUnusable: failed("error", "a changed certificate cannot be used; the old one keeps serving"),
    housekeepingFailed: failed("warn", "housekeeping failed; the next attempt is in ten minutes"),
    sealingFailed: failed("warn", "the record could not be sealed; the next attempt is in seconds"),
    countingFailed: failed("warn", "observed denies could not be counted; the next attempt is in seconds"),
    authorityUnproven: failed("error", "stored authority is not this service's, and is not used"),
    sealsUnproven: failed("error", "the table of seals has rows that are not this service's"),
    sealingBehind: noticed("warn", "rows of the record wait too long for their seal: readiness shows since when"),
    restoreUnacknowledged: noticed(
      "error",
      "the database is older than one that was served: nothing is granted until the issuer epoch is raised",
    ),
    highWaterMarkFailed: failed("warn", "the database's high water mark was not kept; the next attempt is in seconds"),
    clockBehind: noticed(
      "error",
      "the clock is behind the database's: records of this process may look as if they were inserted later",
    ),
    clockSetBack: noticed("error", "the clock was set back: this process keeps its own time until it restarts"),
    evictionUnknown: noticed("warn", "the cache store does not report its eviction policy: it must be noeviction"),
  };
}

function hopEndpoints(telemetry: Telemetry<"control_plane">) {
  const finish = <M extends string>(span: Span | undefined, event: Event<M>) =>
    span === undefined ? telemetry.emit<M>(event) : telemetry.finish<M>(span, event);
  const endpoint = <Result, A extends string, M extends string, U extends string>(
    name: Parameters<typeof telemetry.startSpan>[0] | undefined,
    answered: (result: Result) => Event<A>,
    malformed: Event<M>,
    unavailable: Event<U>,
  ): HopEvents<Result> => ({
    started: (inbound) => name && telemetry.startSpan(name, inbound),
    answered: (span, result) => finish<A>(span, answered(result)),
    malformed: (span) => finish<M>(span, malformed),
    unavailable: (span, error) => finish<U>(span, { ...unavailable, error }),
  });
  const hop = hopEvents(telemetry.identify);
  const refused = { facts: { "authz.result": "refused" } } as const;
  const notIssued = { facts: { "authz.result": "unavailable" } } as const;
  const notMinted = { count: { svc_transaction_mints: { result: "refused" } } } as const;
  return {
    authorize: endpoint(
      "authz.decide",
      hop.authorize,
      { log: ["info", "authorize rejected: bearer, rate or body"] },
      {
        count: { svc_audit_write_failures: 1 },
        log: ["error", "a decision could not be recorded and was not returned"],
      },
    ),
    exchange: endpoint(
      "authz.exchange",
      hop.exchange,
      { ...refused, log: ["info", "exchange rejected: form or rate"] },
      { ...notIssued, log: ["error", "an exchange could not be decided; no token was issued"] },
    ),
    renew: endpoint(
      undefined,
      hop.renew,
      { log: ["info", "renewal rejected: bearer, rate or body"] },
      { log: ["error", "a renewal could not be decided; no token was issued"] },
    ),
    mint: endpoint(
      "authz.transaction.mint",
      hop.mint,
      { ...refused, ...notMinted, log: ["info", "mint rejected: bearer, rate or body"] },
      { ...notIssued, ...notMinted, log: ["error", "a mint could not be recorded; no token was issued"] },
    ),
  };
}

/** Counts finished enrollments only. */
function completionEvent({ kind }: Completed) {
  switch (kind) {
    case "enrolled":
      return { count: { svc_enrollments: { status: kind } }, log: ["info", "agent enrolled"] } as const;
    case "quarantined":
      return { count: { svc_enrollments: { status: kind } }, log: ["info", "agent quarantined"] } as const;
    case "invalid_proof":
      return { log: ["info", "enrollment refused: the proof is not valid"] } as const;
    default:
      return { log: ["info", "enrollment refused: it is over"] } as const;
  }
}
