import type { AdministrativeEventKind } from "@svc/core";

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

type Concerns = "sessionId" | "agent" | "reason";

/** Absent members are null in the record. */
export type NewEvent = Omit<AdministrativeEvent, Concerns> & Partial<Pick<AdministrativeEvent, Concerns>>;

export interface EventQuery {
  readonly kind: AdministrativeEventKind | undefined;
  readonly sessionId: string | undefined;
  readonly agent: string | undefined;
  /** Inclusive. */
  readonly sinceMs: number | undefined;
  /** Exclusive. */
  readonly untilMs: number | undefined;
  /** Exclusive: the identifier of an event. */
  readonly beforeId: string | undefined;
  readonly limit: number;
}

export interface AdministrativeEvents {
  /** Newest first. */
  page(query: EventQuery): Promise<readonly AdministrativeEvent[]>;
}
