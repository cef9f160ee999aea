import { eventReader, type SentEvent } from "./event-text.ts";
import { RefreshFault } from "./get-json.ts";
import type { VerifierPorts } from "./ports.ts";

export interface PushClientOptions {
  /** The address of the stream. */
  readonly url: string;
  readonly token: string;
  readonly onEvent: (event: SentEvent) => void;
  readonly onFailure: (error: unknown) => void;
}

/** Three heartbeats. */
const silenceMs = 15_000;
const firstRetryMs = 250;
const longestRetryMs = 30_000;

/** Events that may still concern a token: a minute and the leeway, and some for the connection. */
export const concernsMs = 70_000;

/** Follows the push until `stop`. After a cut it continues from the last position that it received. */
export function followPush(ports: VerifierPorts, { url, token, onEvent, onFailure }: PushClientOptions) {
  let lastId: string | undefined;
  let failures = 0;
  let isStopped = false;
  let cancelRetry: (() => void) | undefined;
  let controller = new AbortController();

  const read = async (): Promise<void> => {
    controller = new AbortController();
    const { signal } = controller;
    let cancelSilence = ports.after(silenceMs, () => controller.abort());
    try {
      const since = new Date(ports.now() - concernsMs).toISOString();
      const response = await ports.fetch(lastId === undefined ? `${url}?since=${since}` : url, {
        headers: {
          accept: "text/event-stream",
          authorization: `Bearer ${token}`,
          ...(lastId !== undefined && { "last-event-id": lastId }),
        },
        redirect: "manual",
        signal,
      });
      if (response.status !== 200 || response.body === null) {
        await response.body?.cancel();
        // An id that is refused would be refused for ever.
        lastId = undefined;
        throw new RefreshFault(`status ${response.status}`, { status: response.status });
      }
      const take = eventReader((event) => {
        lastId = event.id ?? lastId;
        failures = 0;
        onEvent(event);
      });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        cancelSilence();
        cancelSilence = ports.after(silenceMs, () => controller.abort());
        take(next.value);
      }
    } finally {
      cancelSilence();
      controller.abort();
    }
  };

  const run = (): void => {
    void read()
      .catch((error: unknown) => {
        failures += 1;
        if (!isStopped) onFailure(error);
      })
      .finally(() => {
        const delayMs = Math.min(longestRetryMs, firstRetryMs * 2 ** failures) * (0.5 + ports.random());
        if (!isStopped) cancelRetry = ports.after(delayMs, run);
      });
  };
  run();
  return {
    stop: (): void => {
      isStopped = true;
      cancelRetry?.();
      controller.abort();
    },
  };
}
