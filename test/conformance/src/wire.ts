import { once } from "node:events";
import { type IncomingMessage, request as requestPlainly } from "node:http";
import { request as requestOverTls } from "node:https";

/**
 * One request, sent unchanged: `fetch` normalizes paths and joins repeated headers.
 * @param headers names and values, alternating; repeats stay separate
 */
export async function overTheWire(
  baseUrl: string,
  path: string,
  { method = "GET", headers = [] }: { method?: string; headers?: readonly string[] } = {},
): Promise<{ status: number; text: string }> {
  const { protocol, hostname, port, host, pathname } = new URL(baseUrl);
  const request = (protocol === "https:" ? requestOverTls : requestPlainly)({
    hostname,
    port,
    method,
    path: `${pathname.replace(/\/$/, "")}${path}`,
    headers: ["host", host, ...headers],
  });
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const text = Buffer.concat(await response.toArray()).toString("utf8");
  return { status: response.statusCode ?? 0, text };
}
