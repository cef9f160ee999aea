import { type CamelCased, fromWire, type HopAnswer, hopAnswer, hopLine, maxHopLines, toWire } from "@svc/core";
import type { z } from "zod";
import { type Deadlines, nextTurn, sharedDeadlines } from "./deadlines.ts";
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

/** A line that waits for its answer; the first call of `answer` and `fail` settles it. */
interface Waiting {
  readonly text: string;
  readonly endsAtMs: number;
  isSent: boolean;
  isSettled: boolean;
  /** Of a deadline of its own. */
  cancelDeadline?: () => void;
  readonly answer: (answer: HopAnswer) => void;
  readonly fail: (fault: unknown) => void;
}

const maxRequestBytes = 1_048_576;
/** The largest answer of a line holds two tokens and a decision. */
const maxAnswerBytes = 64 * 1024;
/** A line that ends so little before its request ends with it. */
const nearMs = 20;

/** Sends the lines of one turn of the event loop together: after its sockets were read. */
export function hopLines(
  transport: Transport,
  monotonicMs: () => number,
  deadlines: Deadlines = sharedDeadlines(monotonicMs),
): HopLines {
  let queue: Waiting[] = [];

  const flush = () => {
    const lines = queue.filter(({ isSettled }) => !isSettled);
    queue = [];
    for (const batch of batchesOf(lines)) void sendBatch(transport, deadlines, batch, monotonicMs());
  };

  return {
    take: (line, { deadlineMs, signal }) =>
      new Promise((resolve, reject) => {
        const settle = () => {
          entry.isSettled = true;
          entry.cancelDeadline?.();
          signal?.removeEventListener("abort", onAbort);
        };
        const entry: Waiting = {
          text: `${JSON.stringify(toWire(hopLine, line))}\n`,
          endsAtMs: monotonicMs() + deadlineMs,
          isSent: false,
          isSettled: false,
          answer(answer) {
            settle();
            resolve(answer);
          },
          fail(fault) {
            settle();
            reject(fault);
          },
        };
        const onAbort = () => entry.fail(new TransportFault("aborted", { isUnsent: !entry.isSent }));
        if (signal?.aborted) return onAbort();
        signal?.addEventListener("abort", onAbort, { once: true });
        if (queue.push(entry) === 1) nextTurn(flush);
      }),
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
async function sendBatch(
  transport: Transport,
  deadlines: Deadlines,
  batch: readonly Waiting[],
  nowMs: number,
): Promise<void> {
  const endsAtMs = Math.max(...batch.map((line) => line.endsAtMs));
  for (const line of batch) {
    line.isSent = true;
    // The transport alone knows whether a request that ran out of time was sent.
    if (line.endsAtMs < endsAtMs - nearMs) {
      line.cancelDeadline = deadlines(line.endsAtMs - nowMs, () => line.fail(new TransportFault("timeout")));
    }
  }
  const failAll = (fault: unknown) => {
    for (const line of batch) line.fail(fault);
  };
  const onLines = (lines: readonly string[]) => {
    for (const answer of lines.map(read)) if (answer) batch[answer.line]?.answer(answer);
  };
  try {
    const response = await transport.send({
      method: "POST",
      path: hopsPath,
      headers: { "content-type": "application/x-ndjson", accept: "application/x-ndjson" },
      body: batch.map(({ text }) => text).join(""),
      deadlineMs: endsAtMs - nowMs,
      maxResponseBytes: batch.length * maxAnswerBytes,
      onLines,
    });
    if (response.status === 200) {
      // Without an answer of its own a line may have taken effect.
      if (batch.some(({ isSettled }) => !isSettled)) failAll(new TransportFault("unreachable"));
      return;
    }
    for (const [index, line] of batch.entries()) line.answer(refusedWhole(response, index));
  } catch (fault) {
    failAll(fault);
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
