import type { FeedItem } from "@svc/seals";
import type { SinkBatch, SinkClaim, SinkPosition, Sinks } from "../../ports/sinks.ts";
import type { Message, Posted } from "./post.ts";
import type { Part, Receiver } from "./receiver.ts";

/** `moved`: another process has the sink, or its position was moved. */
export type Delivered =
  | { readonly kind: "delivered" | "moved" }
  | { readonly kind: "failed"; readonly fault: string; readonly retryAfterMs: number };

interface Delivering {
  readonly sinks: Pick<Sinks, "accepted">;
  readonly receiver: Receiver;
  readonly post: (message: Message) => Promise<Posted>;
  /** How many items a message may have. It falls where the receiver finds a message too large. */
  readonly limit: { items: number };
}

/** Signing and rendering take the event loop: some milliseconds for so much. */
const maxBodyBytes = 524_288;

/** Sends a batch message by message. The position moves after each one that the receiver took, never before. */
export async function deliverBatch(delivering: Delivering, claim: SinkClaim, next: SinkBatch): Promise<Delivered> {
  const { sinks, receiver, post, limit } = delivering;
  if (next.items.length === 0 && !(await sinks.accepted(claim.sink, { batch: next.batch, entries: 0 }))) {
    return { kind: "moved" };
  }
  for (let sent = 0; sent < next.items.length; ) {
    const parts = messageParts(receiver, next.items.slice(sent, sent + limit.items));
    const through = sent + parts.length;
    const posted = await post(receiver.message(parts, `rows_${next.batch}_${sent}_${through}_${next.items.length}`));
    if (posted.kind === "too_large" && parts.length > 1) {
      limit.items = Math.ceil(parts.length / 2);
      continue;
    }
    const refusal = refusalOf(posted, receiver, parts[0]);
    if (refusal !== undefined) return refusal;
    const position = positionAfter(claim, next, through);
    if (!(await sinks.accepted(claim.sink, position))) return { kind: "moved" };
    sent = through;
  }
  return { kind: "delivered" };
}

/** At least one, and no more than fit into a message. */
function messageParts(receiver: Receiver, items: readonly FeedItem[]): readonly Part[] {
  const parts: Part[] = [];
  let bytes = 0;
  for (const item of items) {
    const part = receiver.part(item);
    bytes += part.bytes;
    if (parts.length > 0 && bytes > maxBodyBytes) break;
    parts.push(part);
  }
  return parts;
}

function refusalOf(posted: Posted, receiver: Receiver, first: Part | undefined): Delivered | undefined {
  const failed = (fault: string): Delivered => ({ kind: "failed", fault, retryAfterMs: 0 });
  if (posted.kind === "failed") return posted;
  if (posted.kind === "too_large") return failed(`answered 413 to a single row of ${first?.bytes} bytes`);
  const refused = receiver.refused(posted.answer);
  return refused > 0 ? failed(`took a message, and refused ${refused} of its rows`) : undefined;
}

const positionAfter = (claim: SinkPosition, { batch, items }: SinkBatch, through: number): SinkPosition =>
  through === items.length
    ? { batch, entries: 0 }
    : { batch: claim.batch, entries: Math.max(claim.entries, items[through - 1]?.end ?? 0) };
