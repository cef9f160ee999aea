import type { SetError } from "@svc/core";

/** A security event token (RFC 8417) of the identity provider, for this service. */
export interface SecurityEvent {
  readonly kind: "event";
  /** Of the provider, in its own spelling. */
  readonly issuer: string;
  readonly jti: string;
  readonly issuedAtMs: number;
  /** The URI of the event, and what the token says of it. */
  readonly type: string;
  readonly event: Readonly<Record<string, unknown>>;
  /** `sub_id`, as sent. */
  readonly subject: unknown;
}

/** Why a token is not taken, in the words of RFC 8935 section 2.4. */
export interface SetRefused {
  readonly kind: "refused";
  readonly err: SetError;
  readonly description: string;
}

export interface SecurityEvents {
  /** @throws {IdentityProviderUnavailable} */
  verify(token: string): Promise<SecurityEvent | SetRefused>;
}

/** The tokens that had their effect. Each is kept for two days. */
export interface ReceivedSets {
  has(hash: Buffer): Promise<boolean>;
  /** Durable when it resolves. */
  add(hash: Buffer): Promise<void>;
}

/** What became of the tokens of the answer before, by `jti` (RFC 8936 section 2.2). */
export interface EventAnswers {
  readonly ack: readonly string[];
  readonly setErrs: Readonly<Record<string, Omit<SetRefused, "kind">>>;
}

export interface PolledEvents {
  readonly sets: Readonly<Record<string, string>>;
  readonly moreAvailable: boolean;
}

/** Reports what became of earlier tokens, and returns those that wait. */
export type EventPoll = (answers: EventAnswers) => Promise<PolledEvents>;

/** Delivers one token (RFC 8935); resolves once the receiver answered it, be it that it refuses this one for good. */
export type DeliverSet = (delivery: {
  readonly url: string;
  /** The value of the header. */
  readonly authorization: string | undefined;
  readonly token: string;
}) => Promise<void>;
