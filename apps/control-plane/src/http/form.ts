import { decodeUtf8 } from "@svc/tokens";
import { ApiError } from "./api-error.ts";
import { isMediaType, isUncoded, readBody } from "./body.ts";
import { decodeUrlEncoded, queryText } from "./query.ts";

/** A form is read before its sender is known: its tokens are in it. */
const formCapBytes = 65_536;

export type FormReading =
  | { readonly ok: true; readonly fields: ReadonlyMap<string, string> }
  /** An RFC 6749 section 5.2 `invalid_request`; `description` is within that section's character set. */
  | { readonly ok: false; readonly status: 400 | 413; readonly description: string };

/**
 * Reads a form as RFC 6749 section 3.2 wants it: one media type, UTF-8, no parameter twice and none in the query. Read
 * by hand, since a lenient reader would take the last of repeated parameters and guess at malformed ones.
 */
export async function readForm(request: Request): Promise<FormReading> {
  if (queryText(request.url) !== "") return refused("parameters must not be in the query");
  if (!isMediaType(request.headers, "application/x-www-form-urlencoded")) {
    return refused("the body must be application/x-www-form-urlencoded in UTF-8");
  }
  if (!isUncoded(request.headers)) return refused("the body must be sent uncompressed");
  try {
    const text = decodeUtf8(await readBody(request, formCapBytes));
    const form = text === undefined ? undefined : decodeUrlEncoded(text);
    if (form === undefined) return refused("the body is not percent-encoded UTF-8");
    return form.repeated === undefined
      ? { ok: true, fields: form.values }
      : refused("a parameter must not be repeated");
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.code === "payload_too_large"
      ? refused("the body is too large", 413)
      : refused("the body could not be read to its end");
  }
}

const refused = (description: string, status: 400 | 413 = 400): FormReading => ({ ok: false, status, description });
