import { readBounded } from "@svc/core/read-bounded";

export interface Message {
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
}

/** `too_large`: 413. `failed`: anything else but a success, in words without any of the receiver's own. */
export type Posted =
  | { readonly kind: "taken"; readonly answer: Uint8Array }
  | { readonly kind: "too_large" }
  | { readonly kind: "failed"; readonly fault: string; readonly retryAfterMs: number };

interface PostSettings {
  readonly fetch: typeof globalThis.fetch;
  /** For connection, request and answer together. */
  readonly deadlineMs: number;
  /** The process ends. */
  readonly closed: AbortSignal;
}

const maxAnswerBytes = 65_536;

/** Sends a message once: no redirect is followed, and the answer is read up to 64 KiB. */
export async function post(url: URL, { body, headers }: Message, settings: PostSettings): Promise<Posted> {
  const { fetch, deadlineMs, closed } = settings;
  const late = AbortSignal.timeout(deadlineMs);
  try {
    const signal = AbortSignal.any([late, closed]);
    const response = await fetch(url, { method: "POST", redirect: "manual", headers, body, signal });
    const answer = await readBounded(response.body, maxAnswerBytes);
    if (response.ok) return { kind: "taken", answer: answer ?? new Uint8Array() };
    if (response.status === 413) return { kind: "too_large" };
    const isRedirect = response.status >= 300 && response.status < 400;
    const fault = isRedirect ? `redirects (${response.status}), and none is followed` : `answered ${response.status}`;
    return { kind: "failed", fault, retryAfterMs: secondsOf(response.headers.get("retry-after")) * 1_000 };
  } catch (cause) {
    const fault = late.aborted ? `no answer within ${deadlineMs / 1_000} s` : `not reached (${codeBehind(cause)})`;
    return { kind: "failed", fault, retryAfterMs: 0 };
  }
}

/** A date is not followed: RFC 9110 section 10.2.3 allows both. */
const secondsOf = (written: string | null): number => (/^\d{1,5}$/.test(written ?? "") ? Number(written) : 0);

/** Of Node or of its HTTP client, as ECONNREFUSED: never a message, which may hold an address. */
function codeBehind(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ("code" in cause && typeof cause.code === "string") return cause.code;
  }
  return "connection failed";
}
