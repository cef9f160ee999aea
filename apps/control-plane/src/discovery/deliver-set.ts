import { lookup } from "node:dns/promises";
import { readBounded } from "@svc/core/read-bounded";
import { z } from "zod";
import type { DeliverSet } from "../ports/security-events.ts";
import type { AllowedDestination } from "./allow-list.ts";

/** For connection, request and answer together. */
const longestMs = 10_000;
const maxAnswerBytes = 4_096;

/** Of the codes of RFC 8935 section 2.4 the one that no further try can change. */
const refusedForGood = z.object({ err: z.literal("invalid_request") });

/** Through the guard of discovery, since receivers name the address: it reaches no internal host and follows no redirect. */
export const deliverSet =
  (allowed: readonly AllowedDestination[], timeoutMs = longestMs): DeliverSet =>
  async ({ url, authorization, token }) => {
    const { guardedFetch } = await import("./guarded-fetch.ts");
    const signal = AbortSignal.timeout(timeoutMs);
    const resolveHost = (host: string) => lookup(host, { all: true });
    const { fetch, failed, close } = guardedFetch({ allowed, credentials: new Map(), resolveHost, signal });
    const post = async (): Promise<void> => {
      const response = await fetch(url, {
        method: "POST",
        redirect: "manual",
        headers: {
          accept: "application/json",
          "content-type": "application/secevent+jwt",
          ...(authorization !== undefined && { authorization }),
        },
        body: token,
      });
      const isAnswered = response.ok || (response.status === 400 && (await isRefusal(response)));
      if (!isAnswered) throw new TypeError(`the receiver at ${new URL(url).host} answered with ${response.status}`);
    };
    try {
      await Promise.race([post(), failed]);
    } finally {
      await close();
    }
  };

async function isRefusal(response: Response): Promise<boolean> {
  const bytes = await readBounded(response.body, maxAnswerBytes);
  try {
    return refusedForGood.safeParse(JSON.parse(Buffer.from(bytes ?? []).toString())).success;
  } catch {
    return false;
  }
}
