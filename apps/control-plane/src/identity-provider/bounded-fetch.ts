import { readBounded } from "@svc/core/read-bounded";
import { budgets } from "../budgets.ts";

const maxAnswerBytes = 1_048_576;

interface Sent extends Pick<RequestInit, "method" | "headers"> {
  readonly body?: RequestInit["body"] | undefined;
}

/** A fetch that ends in time, follows no redirect, and reads at most 1 MiB, unpacked. */
export const boundedFetch =
  (fetch: typeof globalThis.fetch) =>
  async (url: string, { method = "GET", headers = {}, body = null }: Sent): Promise<Response> => {
    const signal = AbortSignal.timeout(budgets.identityProvider);
    const response = await fetch(url, { method, headers, body, redirect: "manual", signal });
    const read = await readBounded(response.body, maxAnswerBytes);
    if (read === undefined) throw new TypeError("the identity provider's answer is too large");
    return new Response(withoutBody.has(response.status) ? null : read, {
      status: response.status,
      headers: response.headers,
    });
  };

/** `Response` takes no body with these (Fetch standard: null body status). */
const withoutBody = new Set([101, 204, 205, 304]);
