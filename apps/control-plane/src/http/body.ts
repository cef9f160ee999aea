import { readBounded } from "@svc/core/read-bounded";
import { ApiError } from "./api-error.ts";

/** On every route (docs/reference/conventions.md#request-bodies). */
export const bodyCapBytes = 1_048_576;

/**
 * The whole body, refused as soon as it is known to pass the cap.
 * @throws {ApiError} `payload_too_large`; `invalid_request` where the body ended early.
 */
export async function readBody(request: Request, capBytes = bodyCapBytes): Promise<Uint8Array> {
  const declared = request.headers.get("content-length");
  if (declared !== null && Number(declared) > capBytes) throw tooLarge(capBytes);
  try {
    // The HTTP parser holds a body to its declared length, which spares the stream.
    const body =
      declared === null ? await readBounded(request.body, capBytes) : new Uint8Array(await request.arrayBuffer());
    if (body === undefined || body.byteLength > capBytes) throw tooLarge(capBytes);
    return body;
  } catch (error) {
    throw error instanceof ApiError
      ? error
      : new ApiError("invalid_request", "The body could not be read to its end.", { cause: error });
  }
}

const tooLarge = (capBytes: number): ApiError =>
  new ApiError("payload_too_large", `A request body may have at most ${capBytes} bytes.`);

/** Whether `Content-Type` is this type with, at most, a charset that says UTF-8 (RFC 9110 section 8.3.1). */
export function isMediaType(headers: Headers, type: string): boolean {
  const header = headers.get("content-type") ?? "";
  const [essence = "", ...parameters] = header.split(";").map((part) => part.trim().toLowerCase());
  if (essence !== type) return false;
  return parameters.length === 0 || (parameters.length === 1 && /^charset="?utf-?8"?$/.test(parameters[0] ?? ""));
}

/** Whether the body is sent as it is. It is never unpacked here, since little that is sent may be much that is read. */
export const isUncoded = (headers: Headers): boolean =>
  (headers.get("content-encoding") ?? "identity").trim().toLowerCase() === "identity";
