import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "undici";
import { ascending, quantile } from "./statistics.ts";

/** One request of a load; built anew each time, so that single-use tokens can be taken. */
export interface Call {
  readonly method?: "GET" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | Readable;
  /** The next request after a 200, made from its text; the call ends with the last response. */
  readonly next?: (text: string) => Call;
}

export interface Target {
  readonly origin: string;
  /** @param connection from 0 */
  readonly call: (connection: number) => Call;
}

export interface LoadResult {
  readonly answered: number;
  readonly shed: number;
  readonly failed: number;
  readonly seconds: number;
  /** Ascending. */
  readonly latenciesMs: readonly number[];
}

/**
 * A closed loop: every connection calls again after each response. A shed call (503) is repeated after Retry-After. Any
 * other status than 200 is a failure, and more than one in a hundred end the measurement: on a busy machine a call may
 * time out, but a load that mostly fails measures something else.
 */
export async function load(
  target: Target,
  connections: number,
  seconds: number,
  nowMs: () => number = () => performance.now(),
): Promise<LoadResult> {
  const clients = Array.from({ length: connections }, () => new Client(target.origin, { pipelining: 1 }));
  const latenciesMs: number[] = [];
  let shed = 0;
  const failures: string[] = [];
  const started = nowMs();
  const end = started + seconds * 1000;
  const loop = async (client: Client, connection: number): Promise<void> => {
    while (nowMs() < end) {
      const askedMs = nowMs();
      const answer = await ask(client, target.call(connection));
      if (answer.status === 200) latenciesMs.push(nowMs() - askedMs);
      else if (answer.status === 503) {
        shed += 1;
        await sleep(Math.min(end - nowMs(), answer.retryAfterMs));
      } else failures.push(`${target.origin} returned ${answer.status}: ${answer.text.slice(0, 400)}`);
    }
  };
  try {
    await Promise.all(clients.map(loop));
  } finally {
    await Promise.all(clients.map((client) => client.destroy()));
  }
  const elapsedSeconds = (nowMs() - started) / 1000;
  const failed = failures.length;
  if (failed > Math.max(3, latenciesMs.length / 100)) throw new Error(`${failed} calls failed; ${failures[0]}`);
  return { answered: latenciesMs.length, shed, failed, seconds: elapsedSeconds, latenciesMs: ascending(latenciesMs) };
}

interface Answer {
  readonly status: number;
  readonly retryAfterMs: number;
  readonly text: string;
}

async function ask(client: Client, call: Call): Promise<Answer> {
  const answer = await askOnce(client, call);
  return answer.status === 200 && call.next ? ask(client, call.next(answer.text)) : answer;
}

/** Dispatch is undici's cheapest call: the generator shares its cores with the measured processes. */
function askOnce(client: Client, { method = "GET", path, headers, body, next }: Call): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let status = 0;
    let retryAfterMs = 0;
    let text = "";
    client.dispatch(
      { method, path, headers: headers ?? null, body: body ?? null },
      {
        onRequestStart: () => {},
        onResponseStart(_controller, statusCode, fields) {
          status = statusCode;
          if (status === 503) retryAfterMs = Number(fields["retry-after"] ?? 0.1) * 1000;
        },
        onResponseData(_controller, chunk) {
          if (status !== 200 || next) text += chunk;
        },
        onResponseEnd: () => resolve({ status, retryAfterMs, text }),
        onResponseError: (_controller, cause) => reject(cause),
      },
    );
  });
}

export const figuresOf = ({ answered, shed, failed, seconds, latenciesMs }: LoadResult) => ({
  rate: answered / seconds,
  p50Ms: quantile(latenciesMs, 0.5),
  p99Ms: quantile(latenciesMs, 0.99),
  shedShare: shed / Math.max(1, answered + shed),
  failed,
});
