import { createHash } from "node:crypto";
import { credentialChanges, eventTypes, inconsequentialEvents } from "@svc/core";
import type { ReceivedSets, SecurityEvent, SecurityEvents, SetRefused } from "../../ports/security-events.ts";
import type { SignIns } from "../../ports/sign-ins.ts";
import type { CommandDeps } from "../deps.ts";
import { endSessions } from "../sessions.ts";
import { endSignIns } from "../sign-ins.ts";
import { personOfSubject } from "./event-subject.ts";

export interface ReceiveDeps extends Pick<CommandDeps, "clock" | "ids" | "sessions"> {
  readonly securityEvents: SecurityEvents;
  readonly receivedSets: ReceivedSets;
  readonly signIns: SignIns;
}

/** How many were ended; none for an event that changes nothing, and for one that came before. */
export interface EventTaken {
  readonly kind: "taken";
  readonly sessions: number;
  readonly signIns: number;
}

/** A session lives no longer (docs/reference/conventions.md#limits): what ran then has ended by itself. */
const effectiveMs = 86_400_000;

/**
 * Does what an event of the identity provider calls for (docs/reference/shared-signals.md#received-events). Durable when
 * it resolves, so that the event can be acknowledged; if it throws, the transmitter sends the event again.
 */
export async function receiveEvent(deps: ReceiveDeps, token: string): Promise<EventTaken | SetRefused> {
  const verified = await deps.securityEvents.verify(token);
  if (verified.kind === "refused") return verified;
  const effect = effectOf(verified);
  if (effect === "unknown") return invalid("events: this type of event is not known here");
  if (effect === "malformed") return invalid(`change_type: must be one of ${credentialChanges.join(", ")}`);
  if (effect === "none") return nothing;
  const subject = personOfSubject(verified.subject, verified.issuer);
  if (subject.kind === "unusable") return invalid(subject.description);
  return verified.issuedAtMs < deps.clock.nowMs() - effectiveMs ? nothing : endOnce(deps, verified, subject.sub);
}

const invalid = (description: string): SetRefused => ({ kind: "refused", err: "invalid_request", description });
const nothing: EventTaken = { kind: "taken", sessions: 0, signIns: 0 };

/** A new credential ends nothing; one that was revoked, deleted or replaced may be what a login proved. */
function effectOf({ type, event }: SecurityEvent): "ends" | "none" | "unknown" | "malformed" {
  switch (type) {
    case eventTypes.sessionRevoked:
    case eventTypes.sessionsRevoked:
    case eventTypes.accountDisabled:
    case eventTypes.accountPurged:
    case eventTypes.credentialCompromise:
      return "ends";
    case eventTypes.credentialChange: {
      const change = credentialChanges.find((each) => each === event.change_type);
      if (change === undefined) return "malformed";
      return change === "create" ? "none" : "ends";
    }
    case eventTypes.accountEnabled:
    case eventTypes.verification:
    case eventTypes.streamUpdated:
      return "none";
    default:
      return inconsequentialEvents.has(type) ? "none" : "unknown";
  }
}

/**
 * Ends the person's sign-ins and sessions. The token counts as received only afterwards: if one of the many commits fails,
 * the next delivery ends the rest, and a replay finds the token.
 */
async function endOnce(deps: ReceiveDeps, { issuer, jti, type }: SecurityEvent, subject: string): Promise<EventTaken> {
  const hash = createHash("sha256").update(`${issuer} ${jti}`).digest();
  if (await deps.receivedSets.has(hash)) return nothing;
  const by = { by: issuer, reason: `${type.slice(type.lastIndexOf("/") + 1)} at the identity provider` };
  // Sign-ins first, so that no page of theirs begins another session.
  const signIns = await endSignIns(deps, { issuer, subject }, by);
  const sessions = await endSessions(deps, { userSub: subject }, by);
  await deps.receivedSets.add(hash);
  return { kind: "taken", sessions, signIns };
}
