import { type ContentFault, contentFaultOf } from "@svc/tokens";
import { type RawHeaders, valuesInAnySpelling } from "./headers.ts";

/** Why a body is not JSON that every server reads alike, in whichever spelling it looks for the two headers. */
export const jsonFaultOf = (headers: RawHeaders): ContentFault | undefined =>
  contentFaultOf({
    contentType: valuesInAnySpelling(headers, "content-type"),
    contentEncoding: valuesInAnySpelling(headers, "content-encoding"),
  });

export const isJsonBody = (headers: RawHeaders): boolean => jsonFaultOf(headers) === undefined;
