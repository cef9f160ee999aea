import type { AdministrativeEventKind } from "@svc/core";
import type { Span, Telemetry, TraceHeaders } from "@svc/telemetry";
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

/** One function per event: metric, span and log from the same facts. Nothing is counted or logged anywhere else. */
export type Events = ReturnType<typeof createEvents>;

export function createEvents(telemetry: Telemetry<"control_plane">) {
  const hop = hopEvents(telemetry.identify);
  return {
    /** Log lines written by `work` carry the span's ids. */
    within: <T>(span: Span, work: () => T): T => telemetry.within(span, work),
    decideStarted: (inbound: TraceHeaders) => telemetry.startSpan("authz.decide", inbound),
    exchangeStarted: (inbound: TraceHeaders) => telemetry.startSpan("authz.exchange", inbound),
    mintStarted: (inbound: TraceHeaders) => telemetry.startSpan("authz.transaction.mint", inbound),

    authorizeAnswered: (span: Span, result: Authorized) => telemetry.finish(span, hop.authorize(result)),
    exchangeAnswered: (span: Span, result: Exchanged) => telemetry.finish(span, hop.exchange(result)),
    renewAnswered: (result: Renewed) => telemetry.emit(hop.renew(result)),
    mintAnswered: (span: Span, result: Minted) => telemetry.finish(span, hop.mint(result)),

    authorizeMalformed: (span: Span) =>
      telemetry.finish(span, { log: ["info", "authorize not asked: its bearer, rate or body was refused"] }),
    exchangeMalformed: (span: Span) =>
      telemetry.finish(span, {
        facts: { "authz.result": "refused" },
        log: ["info", "exchange not asked: its form or rate was refused"],
      }),
    renewMalformed: () => telemetry.emit({ log: ["info", "renewal not asked: its bearer, rate or body was refused"] }),
    mintMalformed: (span: Span) =>
      telemetry.finish(span, {
        facts: { "authz.result": "refused" },
        count: { svc_transaction_mints: { result: "refused" } },
        log: ["info", "mint not asked: its bearer, rate or body was refused"],
      }),

    /** No record, no decision: somebody must look at the database. */
    decisionNotRecorded: (span: Span, error: unknown) =>
      telemetry.finish(span, {
        count: { svc_audit_write_failures: 1 },
        error,
        log: ["error", "a decision could not be recorded; it was not told"],
      }),
    /** The single use could not be decided, so nothing was issued. */
    exchangeUnavailable: (span: Span, error: unknown) =>
      telemetry.finish(span, {
        facts: { "authz.result": "unavailable" },
        error,
        log: ["error", "an exchange could not be decided; no token was issued"],
      }),
    renewUnavailable: (error: unknown) =>
      telemetry.emit({ error, log: ["error", "a renewal could not be decided; no token was issued"] }),
    mintUnavailable: (span: Span, error: unknown) =>
      telemetry.finish(span, {
        facts: { "authz.result": "unavailable" },
        count: { svc_transaction_mints: { result: "refused" } },
        error,
        log: ["error", "a mint could not be recorded; no token was issued"],
      }),

    completionAnswered: (result: Completed) => telemetry.emit(completionEvent(result)),
    agentRevoked: () => telemetry.emit({ count: { svc_revocations: 1 }, log: ["info", "agent revoked"] }),
    identityProviderUnavailable: (error: unknown) =>
      telemetry.emit({ error, log: ["error", "the identity provider could not be asked; nobody was enrolled"] }),

    chainRead: (result: "complete" | "broken" | "not_found", seconds: number) =>
      telemetry.emit({
        count: { svc_chain_queries: { result } },
        observe: { svc_chain_query_duration_seconds: seconds },
        log: ["debug", "chain read"],
      }),
    /** What administrators do is in the audit; the log tells those who watch it. */
    administered: (act: AdministeredAct, sessionId?: string) =>
      telemetry.emit({
        ...(sessionId !== undefined && { facts: { "authz.session_id": sessionId } }),
        log: ["info", administered[act]],
      }),
    requestFailed: (error: unknown) => telemetry.emit({ error, log: ["error", "a request failed"] }),
    storeUnavailable: (error: unknown) => telemetry.emit({ error, log: ["error", "a store cannot serve"] }),
    standbySilent: (error: unknown) =>
      telemetry.emit({
        error,
        log: ["warn", "the standby of the audit reads does not answer; the primary serves them"],
      }),
    certificateUnusable: (error: unknown) =>
      telemetry.emit({ error, log: ["error", "a changed certificate cannot be used; the old one keeps serving"] }),
    housekeepingFailed: (error: unknown) =>
      telemetry.emit({ error, log: ["warn", "housekeeping failed; it is tried again soon"] }),
    sealingFailed: (error: unknown) =>
      telemetry.emit({ error, log: ["warn", "the record could not be sealed; it is tried again soon"] }),
    sealingBehind: () =>
      telemetry.emit({ log: ["warn", "rows of the record wait to be sealed: readiness tells since when"] }),
    restoreUnacknowledged: () =>
      telemetry.emit({
        log: [
          "error",
          "the database is older than one that was served: nothing is granted until the issuer epoch is raised",
        ],
      }),
    highWaterMarkFailed: (error: unknown) =>
      telemetry.emit({ error, log: ["warn", "the witness of the database could not be kept; it is tried again soon"] }),
    clockBehind: () =>
      telemetry.emit({
        log: ["error", "the clock is behind the database's: records of this process may be found as inserted later"],
      }),
    clockSetBack: () =>
      telemetry.emit({
        log: ["error", "the clock was set back: this process goes on from where it was until it starts again"],
      }),
    evictionUnknown: () =>
      telemetry.emit({ log: ["warn", "the cache store does not tell its eviction policy: it must be noeviction"] }),
  };
}
