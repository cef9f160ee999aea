import type { StreamStatus } from "@svc/core";
import type { PushedEvent } from "./pushed-events.ts";

/** What a receiver configured. */
export interface StreamSettings {
  /** Null for a receiver that polls. */
  readonly endpointUrl: string | null;
  readonly sealedAuthorization: string | null;
  readonly eventsRequested: readonly string[];
  readonly description: string | null;
}

export interface SignalStream extends StreamSettings {
  readonly streamId: string;
  /** The label of its bearer. */
  readonly receiver: string;
  readonly status: StreamStatus;
  readonly statusReason: string | null;
  readonly ownEvent: OwnEvent | null;
}

/** An event about the stream itself. */
export interface OwnEvent {
  readonly eventId: string;
  readonly atMs: number;
  readonly type: string;
  readonly event: Readonly<Record<string, unknown>>;
}

/** A pushed event that a receiver has not answered. */
export interface WaitingEvent extends PushedEvent {
  /** Of the session. */
  readonly userSub: string | null;
}

export interface Lease {
  readonly streamId: string;
  readonly lease: string;
}

export interface LeasedStream extends SignalStream, Lease {}

/** Streams of security events to receivers. Each change is durable when it resolves. */
export interface SignalStreams {
  /** It begins with events of now. False: the receiver has one. */
  create(stream: StreamSettings & Pick<SignalStream, "streamId" | "receiver">): Promise<boolean>;
  find(receiver: string): Promise<SignalStream | undefined>;
  configure(streamId: string, settings: StreamSettings): Promise<void>;
  remove(streamId: string): Promise<void>;
  /** One that was disabled begins with events of now, one that was paused where it stopped. */
  setStatus(streamId: string, status: StreamStatus, reason: string | null): Promise<void>;
  /** The event waits instead of an earlier one of the stream. */
  setOwnEvent(streamId: string, event: OwnEvent): Promise<void>;
  clearOwnEvent(streamId: string, eventId: string): Promise<void>;
  /**
   * Takes the events that are settled from those that wait, and returns the rest in order: a hundred at most. A stream
   * whose events waited for almost a day is disabled instead, with an event that says so. None if the lease was lost.
   */
  settle(
    stream: { readonly streamId: string; readonly lease?: string },
    isSettled: (event: WaitingEvent) => boolean,
    disabled: OwnEvent,
  ): Promise<readonly WaitingEvent[]>;
  /** A stream whose events are to be pushed now, for this process alone. */
  lease(): Promise<LeasedStream | undefined>;
  /** After a failure the next try is later and later. */
  release(lease: Lease, outcome: "delivered" | "failed"): Promise<void>;
}
