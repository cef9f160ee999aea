import { setTimeout as delay } from "node:timers/promises";

/** Below a test's time limit, so that a failure names the condition. Less where tests are expected to fail. */
const patienceMs = Number(process.env.TEST_PATIENCE_MS ?? 240_000);

/**
 * Waits until `condition` neither throws nor returns false, and returns its result.
 * @param what completes "waited 240000 ms for ..."
 */
export async function waitUntil<T>(
  what: string,
  condition: () => T | Promise<T>,
  timeoutMs = patienceMs,
): Promise<Exclude<T, false>> {
  const endMs = performance.now() + timeoutMs;
  let last: unknown;
  do {
    try {
      const value = await condition();
      if (value !== false) return value as Exclude<T, false>;
    } catch (cause) {
      last = cause;
    }
    await delay(20);
  } while (performance.now() < endMs);
  throw new Error(`waited ${timeoutMs} ms for ${what}`, { cause: last });
}
