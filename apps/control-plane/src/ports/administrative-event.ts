/** Acts of people and of the service itself that are kept beside the decisions (contract: Audit). */
export const administrativeEventKinds = [
  "manifest_submitted",
  "manifest_overridden",
  "consent_granted",
  "token_renewed",
  "enroll_token_issued",
  "agent_enrolled",
  "agent_quarantined",
  "agent_revoked",
  "block_set",
  "block_lifted",
  "key_rotated",
  "key_removed",
  "issuer_epoch_raised",
  "session_revoked",
  "records_retired",
] as const;
export type AdministrativeEventKind = (typeof administrativeEventKinds)[number];

export interface AdministrativeEvent {
  readonly eventId: string;
  readonly kind: AdministrativeEventKind;
  readonly atMs: number;
  /** The label of the bearer, or the agent that acted. */
  readonly actor: string;
  readonly sessionId: string | null;
  readonly agent: string | null;
  readonly reason: string | null;
  /** Facts of the kind; never a secret. */
  readonly details: Readonly<Record<string, string | number | boolean | null>>;
}

export interface EventQuery {
  readonly kind: AdministrativeEventKind | undefined;
  readonly sessionId: string | undefined;
  readonly agent: string | undefined;
  /** Epoch milliseconds, inclusive. */
  readonly sinceMs: number | undefined;
  /** Epoch milliseconds, exclusive. */
  readonly untilMs: number | undefined;
  /** An event's identifier: those made before it only. */
  readonly beforeId: string | undefined;
  readonly limit: number;
}

export interface AdministrativeEvents {
  /** Newest first. */
  page(query: EventQuery): Promise<readonly AdministrativeEvent[]>;
}
