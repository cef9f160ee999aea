/** As much of a body as an enforcement point would ever bind (contract: bind cap, at most). */
const maxBytes = 786_432;

/** The bytes of a request's body, which stays readable; undefined for one too long to be bound. */
export async function boundedBody(request: Request): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.clone().body ?? []) {
    length += chunk.byteLength;
    if (length > maxBytes) return undefined;
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return bytes;
}
