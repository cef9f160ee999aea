import { splitDataClasses } from "./data-class.ts";
import type { DecisionRecord } from "./decision-record.ts";

/** What an exchange presents: the verified subject token's place in the session, and what it wants narrowed to. */
export interface ExchangeRequest extends Pick<DecisionRecord, "sessionId" | "hop" | "target" | "dataClass"> {
  readonly caller: string;
  /** The subject token's own `action_id`; null for a root grant. */
  readonly parentActionId: string | null;
}

/** An allow may be spent this long after it was decided. */
export const allowLifetimeMs = 60_000;

/** In any order: a scope is a set (RFC 6749 section 3.3). */
const areSameClasses = (one: string, other: string): boolean =>
  one === other || (one.length === other.length && sorted(one) === sorted(other));

const sorted = (classes: string): string => splitDataClasses(classes).toSorted().join(" ");

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
  areSameClasses(record.dataClass, request.dataClass) &&
  nowMs - record.decidedAtMs <= allowLifetimeMs;
