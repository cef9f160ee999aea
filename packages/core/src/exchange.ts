import type { DecisionRecord } from "./decision-record.ts";

/** What an exchange presents: the verified subject token's place in the session, and what it wants narrowed to. */
export interface ExchangeRequest extends Pick<DecisionRecord, "sessionId" | "hop" | "target" | "dataClass"> {
  readonly caller: string;
  /** The subject token's own `action_id`; null for a root grant. */
  readonly parentActionId: string | null;
}

/** An allow may be spent this long after it was decided. */
export const allowLifetimeMs = 60_000;

/**
 * Whether the recorded decision is an allow for exactly this hop (docs/reference/routes.md#token-exchange). One result
 * for every mismatch, so that no caller learns which record exists.
 */
export const allowMatches = (record: DecisionRecord, request: ExchangeRequest, nowMs: number): boolean =>
  record.stage === "authorize" &&
  record.decision === "allow" &&
  record.sessionId === request.sessionId &&
  record.actingAgent === request.caller &&
  record.hop === request.hop &&
  record.parentActionId === request.parentActionId &&
  record.target === request.target &&
  record.dataClass === request.dataClass &&
  nowMs - record.decidedAtMs <= allowLifetimeMs;
