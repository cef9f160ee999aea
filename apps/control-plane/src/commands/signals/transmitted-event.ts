import { eventTypes } from "@svc/core";
import { issueSecurityEvent } from "@svc/tokens";
import type { OwnEvent, SignalStream, WaitingEvent } from "../../ports/signal-streams.ts";
import type { CommandDeps } from "../deps.ts";

/** What a receiver is sent: an event and its subject (RFC 9493). */
interface Transmitted {
  readonly eventId: string;
  readonly atMs: number;
  readonly type: string;
  readonly subject: object;
  readonly event: object;
}

/** Types that receivers can request. Those of the stream itself are sent to each. */
export const transmittedTypes: readonly string[] = [
  eventTypes.sessionRevoked,
  eventTypes.credentialChange,
  eventTypes.accountDisabled,
  eventTypes.accountEnabled,
];

/** Undefined for an event that the specifications have no type for, or that the receiver did not request. */
export function transmittedEvent(
  waiting: WaitingEvent,
  { eventsRequested }: Pick<SignalStream, "eventsRequested">,
  issuer: string,
): Transmitted | undefined {
  const described = describe(waiting, issuer);
  if (described === undefined || !eventsRequested.includes(described.type)) return undefined;
  return { eventId: waiting.eventId, atMs: waiting.atMs, ...described };
}

export const ownTransmitted = (own: OwnEvent, { streamId }: Pick<SignalStream, "streamId">): Transmitted => ({
  ...own,
  subject: { format: "opaque", id: streamId },
});

function describe(
  { kind, atMs, sessionId, userSub, agent, details }: WaitingEvent,
  issuer: string,
): Omit<Transmitted, "eventId" | "atMs"> | undefined {
  const event_timestamp = Math.floor(atMs / 1_000);
  const ofAgent = { subject: agentSubject(issuer, agent ?? ""), event: {} };
  const ofKeys = (change_type: "create" | "revoke") => ({
    type: eventTypes.credentialChange,
    subject: { format: "uri", uri: issuer },
    event: {
      credential_type: "signing-key",
      change_type,
      ...(details.kid !== undefined && { friendly_name: details.kid }),
      event_timestamp,
    },
  });
  switch (kind) {
    case "session_revoked":
      return {
        type: eventTypes.sessionRevoked,
        subject: sessionSubject(issuer, sessionId, userSub),
        event: { event_timestamp },
      };
    case "agent_revoked":
    case "agent_quarantined":
      return { type: eventTypes.accountDisabled, ...ofAgent };
    case "quarantine_lifted":
      return { type: eventTypes.accountEnabled, ...ofAgent };
    case "key_rotated":
      return ofKeys("create");
    case "key_removed":
    case "issuer_epoch_raised":
      return ofKeys("revoke");
    case "agent_enrolled":
    case "block_set":
    case "block_lifted":
      return undefined;
  }
}

/** As hop tokens name both: `sid`, and `iss` with `sub`. */
const sessionSubject = (issuer: string, sessionId: string | null, userSub: string | null) => ({
  format: "complex",
  session: { format: "opaque", id: sessionId ?? "" },
  ...(userSub !== null && { user: { format: "iss_sub", iss: issuer, sub: userSub } }),
});

/** An address, since a person may have the same name. */
const agentSubject = (issuer: string, agent: string) => ({
  format: "uri",
  uri: `${issuer.replace(/\/$/, "")}/v1/identity/agents/${encodeURIComponent(agent)}`,
});

/** A security event token for one receiver. Delivered again it has the same claims. */
export const signEvent = (
  { issuerKeys, issuer }: Pick<CommandDeps, "issuerKeys" | "issuer">,
  { receiver }: Pick<SignalStream, "receiver">,
  { eventId, atMs, type, subject, event }: Transmitted,
): Promise<string> =>
  issueSecurityEvent(issuerKeys.current().signingKey(), {
    iss: issuer,
    aud: receiver,
    iat: Math.floor(atMs / 1_000),
    jti: eventId,
    txn: eventId,
    sub_id: subject,
    events: { [type]: event },
  });

/** Says that a stream was disabled, since its events waited for too long. */
export const disabledEvent = ({ ids, clock }: Pick<CommandDeps, "ids" | "clock">): OwnEvent => ({
  eventId: ids.next(),
  atMs: clock.nowMs(),
  type: eventTypes.streamUpdated,
  event: { status: "disabled", reason: "events waited for almost a day and may be missing: read the lists again" },
});
