const noStore = { "Cache-Control": "no-store" };
const json = { "Content-Type": "application/json" };

/** Of an answer that one caller may see. */
export const jsonHeaders = { ...json, ...noStore };

/**
 * A JSON answer with these headers and no others. The adapter writes a plain list of headers as it is; those that a
 * Hono context gathers go through `Headers` first, which took a fifth of such a request.
 */
export const jsonResponse = (
  body: object,
  status: number,
  headers: Readonly<Record<string, string>> = noStore,
): Response => new Response(JSON.stringify(body), { status, headers: { ...json, ...headers } });
