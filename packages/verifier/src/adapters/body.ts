/** As much of a body as an enforcement point would ever bind (contract: bind cap, at most). */
const maxBytes = 786_432;

/** The bytes of a request's body, which stays readable; undefined for one too long to be bound. */
export async function boundedBody(request: Request): Promise<Uint8Array | undefined> {
  const reader = request.clone().body?.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const chunk = await reader?.read();
    if (!chunk || chunk.done) return joined(chunks, length);
    length += chunk.value.byteLength;
    chunks.push(chunk.value);
    if (length <= maxBytes) continue;
    // Not awaited: half of a cloned body is cancelled only when the other half is read.
    void reader?.cancel();
    return undefined;
  }
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return bytes;
}
