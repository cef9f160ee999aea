import { once } from "node:events";
import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import type { Limits } from "../../src/limits.ts";
import { startedPep } from "./pep.ts";
import { startedUpstream } from "./upstream.ts";

export const routes = [
  { methods: ["GET", "HEAD", "POST"], path: "/any", target: "http:files/any", data_class: "docs" },
  { methods: ["GET", "HEAD", "POST"], path: "/open", target: "http:files/open", data_class: "docs" },
];

type Handle = Parameters<typeof startedUpstream>[0];

/** An enforcement point before one upstream, with the headers of an agent. */
export async function startedFiles(handle?: Handle, limits: Partial<Limits> = {}) {
  const upstream = await startedUpstream(handle);
  const running = await startedPep({ upstreams: [{ name: "files", url: upstream.url, routes }], limits });
  running.controlPlane.policies.set("http:files/any", {});
  // Allowed under taint: known to accept it.
  running.controlPlane.policies.set("http:files/open", { taint: "untrusted_external" });
  const headers = await running.session();
  const open = (path: string, options: RequestOptions = {}): ClientRequest =>
    httpRequest(`${running.url}/files${path}`, { ...options, headers: { ...headers, ...options.headers } });
  return { ...running, upstream, headers, open };
}

export const responseTo = async (request: ClientRequest): Promise<IncomingMessage> =>
  (await once(request, "response"))[0];

export async function textOf(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  return text;
}
