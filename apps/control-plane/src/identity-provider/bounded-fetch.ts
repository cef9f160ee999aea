import { readBounded } from "@svc/core/read-bounded";

const maxAnswerBytes = 1_048_576;
/** For each of metadata and key set. */
const deadlineMs = 2_000;

interface FetchOptions {
  readonly method: string;
  readonly headers: Headers | Record<string, string>;
}

type BoundedFetch = (url: string, options: FetchOptions) => Promise<Response>;

/** A fetch that ends in time, follows no redirect, and reads at most 1 MiB, unpacked. */
export const boundedFetch =
  (fetch: typeof globalThis.fetch): BoundedFetch =>
  async (url, { method, headers }) => {
    const signal = AbortSignal.timeout(deadlineMs);
    const response = await fetch(url, { method, headers, redirect: "manual", signal });
    const body = await readBounded(response.body, maxAnswerBytes);
    if (body === undefined) throw new TypeError("the identity provider's answer is too large");
    return new Response(body, { status: response.status, headers: response.headers });
  };
