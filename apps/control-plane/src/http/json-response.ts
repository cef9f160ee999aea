/**
 * A JSON answer that bears these headers and no others. Its adapter writes a plain list of headers as it is, where those that a
 * context gathers one by one go through `Headers` first: a fifth of what such a request costs before anybody looks at it.
 */
export const jsonResponse = (
  body: object,
  status: number,
  headers: Readonly<Record<string, string>> = noStore,
): Response =>
  new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json", ...headers } });

const noStore = { "Cache-Control": "no-store" };
