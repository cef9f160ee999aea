import { type CamelCased, fromWire, type HopAnswer, hopAnswer, hopLine, maxHopLines, toWire } from "@svc/core";
import type { z } from "zod";
import { type Transport, TransportFault, type TransportResponse } from "./transport.ts";

export const hopsPath = "/v1/hops";

export type HopLine = CamelCased<z.input<typeof hopLine>>;

export interface LineOptions {
  readonly deadlineMs: number;
  readonly signal?: AbortSignal;
}

/** `POST /v1/hops` (docs/reference/routes.md#hops). */
export interface HopLines {
  /** @throws {TransportFault} without an answer to this line in time */
  take(line: HopLine, options: LineOptions): Promise<HopAnswer>;
}

interface Waiting extends PromiseWithResolvers<HopAnswer> {
  readonly text: string;
  readonly endsAtMs: number;
  isSettled: boolean;
}

const maxRequestBytes = 1_048_576;
/** The largest answer of a line holds two tokens and a decision. */
const maxAnswerBytes = 64 * 1024;
/** Lines that wait too long are looked for so often. */
const sweepMs = 20;

/** After the sockets of this turn were read, so that the calls that they brought share a request. */
const nextTurn: (run: () => void) => void = globalThis.setImmediate ?? ((run: () => void) => setTimeout(run, 0));

/** Sends the lines of one turn of the event loop together. */
export function hopLines(transport: Transport, monotonicMs: () => number): HopLines {
  let queue: Waiting[] = [];
  const waiting = new Set<Waiting>();
  let isSweeping = false;

  const sweep = () => {
    const nowMs = monotonicMs();
    for (const line of waiting) if (nowMs >= line.endsAtMs) line.reject(new TransportFault("timeout"));
    isSweeping = waiting.size > 0;
    if (isSweeping) setTimeout(sweep, sweepMs);
  };

  const flush = () => {
    const lines = queue.filter(({ isSettled }) => !isSettled);
    queue = [];
    for (const batch of batchesOf(lines)) void sendBatch(transport, batch, monotonicMs());
  };

  return {
    take(line, { deadlineMs, signal }) {
      const text = `${JSON.stringify(toWire(hopLine, line))}\n`;
      const endsAtMs = monotonicMs() + deadlineMs;
      const entry: Waiting = { ...Promise.withResolvers<HopAnswer>(), text, endsAtMs, isSettled: false };
      const onAbort = () => entry.reject(new TransportFault("aborted", { isUnsent: queue.includes(entry) }));
      if (signal?.aborted) onAbort();
      signal?.addEventListener("abort", onAbort, { once: true });
      if (queue.push(entry) === 1) nextTurn(flush);
      waiting.add(entry);
      if (!isSweeping) sweep();
      return entry.promise.finally(() => {
        entry.isSettled = true;
        waiting.delete(entry);
        signal?.removeEventListener("abort", onAbort);
      });
    },
  };
}

function* batchesOf(lines: readonly Waiting[]): Generator<readonly Waiting[]> {
  let batch: Waiting[] = [];
  let bytes = 0;
  for (const line of lines) {
    // A line is ASCII but for the names in it: three bytes bound each character.
    const most = line.text.length * 3;
    if (batch.length === maxHopLines || (batch.length > 0 && bytes + most > maxRequestBytes)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(line);
    bytes += most;
  }
  if (batch.length > 0) yield batch;
}

/** Settles every line: with its answer, with the answer to the whole request, or with the fault of the transport. */
async function sendBatch(transport: Transport, batch: readonly Waiting[], nowMs: number): Promise<void> {
  const rejectAll = (fault: unknown) => {
    for (const line of batch) line.reject(fault);
  };
  const onLines = (lines: readonly string[]) => {
    for (const answer of lines.map(read)) if (answer) batch[answer.line]?.resolve(answer);
  };
  try {
    const response = await transport.send({
      method: "POST",
      path: hopsPath,
      headers: { "content-type": "application/x-ndjson", accept: "application/x-ndjson" },
      body: batch.map(({ text }) => text).join(""),
      deadlineMs: Math.max(...batch.map(({ endsAtMs }) => endsAtMs)) - nowMs,
      maxResponseBytes: batch.length * maxAnswerBytes,
      onLines,
    });
    // Without an answer of its own a line may have taken effect.
    if (response.status === 200) return rejectAll(new TransportFault("unreachable"));
    for (const [index, line] of batch.entries()) line.resolve(refusedWhole(response, index));
  } catch (fault) {
    rejectAll(fault);
  }
}

function read(text: string): HopAnswer | undefined {
  try {
    const { data } = hopAnswer.safeParse(JSON.parse(text));
    return data && fromWire(hopAnswer, data);
  } catch {
    return undefined;
  }
}

function refusedWhole({ status, headers, body }: TransportResponse, line: number): HopAnswer {
  const { "retry-after": retryAfter } = headers;
  return { line, authorize: { status, body: objectIn(body), ...(retryAfter !== undefined && { retryAfter }) } };
}

function objectIn(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
