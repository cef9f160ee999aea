import { z } from "zod";
import type { EventPoll } from "../ports/security-events.ts";
import { boundedFetch } from "./bounded-fetch.ts";

interface EventPollSettings {
  readonly url: URL;
  readonly token: string;
  readonly fetch?: typeof globalThis.fetch;
}

/** RFC 8936 section 2.3. */
const pollAnswer = z.object({ sets: z.record(z.string(), z.string()), moreAvailable: z.boolean().default(false) });

/** Within 1 MiB, with tokens of 8 KiB. */
const maxEvents = 100;

/** The provider's poll endpoint (RFC 8936). It follows no redirect. */
export function eventPoll({ url, token, fetch = globalThis.fetch }: EventPollSettings): EventPoll {
  const bounded = boundedFetch(fetch);
  return async ({ ack, setErrs }) => {
    const response = await bounded(url.href, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json",
      },
      body: JSON.stringify({ maxEvents, returnImmediately: true, ack, setErrs }),
    });
    if (response.status !== 200) throw new TypeError(`the poll endpoint answered with ${response.status}`);
    return pollAnswer.parse(await response.json());
  };
}
