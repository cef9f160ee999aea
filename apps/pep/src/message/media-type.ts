import { isPlainJson } from "@svc/tokens";
import { type RawHeaders, valuesInAnySpelling } from "./headers.ts";

/** Whether a body is JSON that every server reads alike, in whichever spelling it looks for the two headers. */
export const isJsonBody = (headers: RawHeaders): boolean =>
  isPlainJson({
    contentType: valuesInAnySpelling(headers, "content-type"),
    contentEncoding: valuesInAnySpelling(headers, "content-encoding"),
  });
