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
    const isDeclared = declared !== null;
    const body = isDeclared ? new Uint8Array(await request.arrayBuffer()) : await readBounded(request.body, capBytes);
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
