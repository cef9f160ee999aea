import type { AdministrativeEventKind } from "@svc/core";
import type { Span, Telemetry, TelemetryEvent, TraceHeaders } from "@svc/telemetry";
import type { Authorized } from "../commands/hop/authorize.ts";
import type { Exchanged } from "../commands/hop/exchange.ts";
import type { Minted } from "../commands/hop/mint.ts";
import type { Renewed } from "../commands/hop/renew.ts";
import type { Completed } from "../commands/identity/complete-enrollment.ts";
import { hopEvents } from "./hop-events.ts";
import { completionEvent } from "./identity-events.ts";

const administered = {
  session_revoked: "sessions were ended",
  block_set: "an emergency block was set",
  block_lifted: "an emergency block was lifted",
  key_rotated: "an issuer key was rotated in",
  key_removed: "an issuer key was removed",
  issuer_epoch_raised: "the issuer epoch was raised",
} as const satisfies Partial<Record<AdministrativeEventKind, string>>;
type AdministeredAct = keyof typeof administered;

type LogOf<M extends string> = NonNullable<TelemetryEvent<"control_plane", M>["log"]>;

/** One function per event makes its metric, span and log line. No other code counts or logs. */
export type Events = ReturnType<typeof createEvents>;

export function createEvents(telemetry: Telemetry<"control_plane">) {
  const hop = hopEvents(telemetry.identify);
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
    within: <T>(span: Span, work: () => T): T => telemetry.within(span, work),
    decideStarted: (inbound: TraceHeaders) => telemetry.startSpan("authz.decide", inbound),
    exchangeStarted: (inbound: TraceHeaders) => telemetry.startSpan("authz.exchange", inbound),
    mintStarted: (inbound: TraceHeaders) => telemetry.startSpan("authz.transaction.mint", inbound),

    authorizeAnswered: (span: Span, result: Authorized) => telemetry.finish(span, hop.authorize(result)),
    exchangeAnswered: (span: Span, result: Exchanged) => telemetry.finish(span, hop.exchange(result)),
    renewAnswered: (result: Renewed) => telemetry.emit(hop.renew(result)),
    mintAnswered: (span: Span, result: Minted) => telemetry.finish(span, hop.mint(result)),

    authorizeMalformed: (span: Span) =>
      telemetry.finish(span, { log: ["info", "authorize rejected: bearer, rate or body"] }),
    exchangeMalformed: (span: Span) =>
      telemetry.finish(span, {
        facts: { "authz.result": "refused" },
        log: ["info", "exchange rejected: form or rate"],
      }),
    renewMalformed: () => telemetry.emit({ log: ["info", "renewal rejected: bearer, rate or body"] }),
    mintMalformed: (span: Span) =>
      telemetry.finish(span, {
        facts: { "authz.result": "refused" },
        count: { svc_transaction_mints: { result: "refused" } },
        log: ["info", "mint rejected: bearer, rate or body"],
      }),

    decisionNotRecorded: (span: Span, error: unknown) =>
      telemetry.finish(span, {
        count: { svc_audit_write_failures: 1 },
        error,
        log: ["error", "a decision could not be recorded and was not returned"],
      }),
    exchangeUnavailable: (span: Span, error: unknown) =>
      telemetry.finish(span, {
        facts: { "authz.result": "unavailable" },
        error,
        log: ["error", "an exchange could not be decided; no token was issued"],
      }),
    renewUnavailable: failed("error", "a renewal could not be decided; no token was issued"),
    mintUnavailable: (span: Span, error: unknown) =>
      telemetry.finish(span, {
        facts: { "authz.result": "unavailable" },
        count: { svc_transaction_mints: { result: "refused" } },
        error,
        log: ["error", "a mint could not be recorded; no token was issued"],
      }),

    completionAnswered: (result: Completed) => telemetry.emit(completionEvent(result)),
    agentRevoked: () => telemetry.emit({ count: { svc_revocations: 1 }, log: ["info", "agent revoked"] }),
    identityProviderUnavailable: failed("error", "the identity provider did not answer; no agent was enrolled"),

    chainRead: (result: "complete" | "broken" | "not_found", seconds: number) =>
      telemetry.emit({
        count: { svc_chain_queries: { result } },
        observe: { svc_chain_query_duration_seconds: seconds },
        log: ["debug", "chain read"],
      }),
    /** The audit has the details. */
    administered: (act: AdministeredAct, sessionId?: string) =>
      telemetry.emit({
        ...(sessionId !== undefined && { facts: { "authz.session_id": sessionId } }),
        log: ["info", administered[act]],
      }),
    requestFailed: failed("error", "a request failed"),
    storeUnavailable: failed("error", "a store cannot serve"),
    standbySilent: failed("warn", "the standby of the audit reads does not answer; the primary serves them"),
    certificateUnusable: failed("error", "a changed certificate cannot be used; the old one keeps serving"),
    housekeepingFailed: failed("warn", "housekeeping failed; the next attempt is in ten minutes"),
    sealingFailed: failed("warn", "the record could not be sealed; the next attempt is in seconds"),
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
