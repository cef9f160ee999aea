import { Pool } from "undici";

export interface Target {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Sample {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** A closed loop: every connection asks again as soon as it was answered. Any answer but 200 ends the run. */
export async function sample({ url, headers }: Target, connections: number, seconds: number): Promise<Sample> {
  const { origin, pathname } = new URL(url);
  const pool = new Pool(origin, { connections, pipelining: 1 });
  const latenciesMs: number[] = [];
  const started = performance.now();
  const end = started + seconds * 1000;
  const ask = async (): Promise<void> => {
    const askedMs = performance.now();
    const { statusCode, body } = await pool.request({ method: "GET", path: pathname, headers });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}: ${text.slice(0, 300)}`);
    latenciesMs.push(performance.now() - askedMs);
  };
  const loop = async (): Promise<void> => {
    while (performance.now() < end) await ask();
  };
  await Promise.all(Array.from({ length: connections }, loop));
  const elapsedSeconds = (performance.now() - started) / 1000;
  await pool.close();
  latenciesMs.sort((a, b) => a - b);
  return {
    requestsPerSecond: latenciesMs.length / elapsedSeconds,
    p50Ms: quantile(latenciesMs, 0.5),
    p99Ms: quantile(latenciesMs, 0.99),
  };
}

export const quantile = (sorted: readonly number[], q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;

export const median = (values: readonly number[]): number =>
  quantile(
    [...values].sort((a, b) => a - b),
    0.5,
  );
