import type { SinkName } from "@svc/core";
import type { FeedItem } from "@svc/seals";
import type { Message } from "./post.ts";

/** An item as a receiver gets it. */
export interface Part<T = unknown> {
  readonly value: T;
  /** About its size in a message. */
  readonly bytes: number;
}

/** How a sink's messages look. */
export interface Receiver {
  readonly sink: SinkName;
  readonly url: URL;
  part(item: FeedItem): Part;
  /** @param id the same for the same parts */
  message(parts: readonly Part[], id: string): Message;
  /** How many parts the answer to a taken message refuses. */
  refused(answer: Uint8Array): number;
}
