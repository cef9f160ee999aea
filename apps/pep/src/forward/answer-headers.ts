import { belowPrefix, type PrefixedCall } from "../message/below-prefix.ts";
import { type RawHeaders, responseHeaders } from "../message/headers.ts";

/** Headers or trailers of an upstream, as its agent gets them. */
export type AnswerHeaders = (received: RawHeaders) => string[];

/** @param prefixed of a call under the path prefix */
export const answerHeaders =
  (secrets: readonly string[], prefixed: PrefixedCall | undefined): AnswerHeaders =>
  (received) => {
    const headers = responseHeaders(received, secrets);
    return prefixed ? belowPrefix(headers, prefixed) : headers;
  };
