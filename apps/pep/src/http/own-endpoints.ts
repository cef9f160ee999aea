import type { IncomingMessage, ServerResponse } from "node:http";
import { isLoopback, pathOf } from "@svc/host";
import type { Events } from "../events.ts";
import { writeAnswer } from "../message/write-answer.ts";

const prefix = "/__svc/";

/** Own paths never pass the decision point (docs/reference/enforcement-point.md#listeners). */
export const isOwnPath = (target: string): boolean => target.startsWith(prefix);

export interface OwnEndpoints {
  readonly events: Pick<Events, "render">;
  /** False once the process is stopping. */
  readonly isReady: () => boolean;
  /** Ends the process as SIGTERM does; undefined: not allowed. */
  readonly quit: (() => void) | undefined;
  /** For operators: undefined on the port of the agents. */
  readonly unlisted?: () => object;
  readonly changed?: () => object;
  readonly hosts?: () => object;
}

const quitPath = "/__svc/quit";

/** Probes and metrics; unlisted calls and hosts, and changed tools, on the admin port alone; `/__svc/quit` if allowed. */
export async function serveOwn(
  endpoints: OwnEndpoints,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const reply = (status: number, type: string, body: string, more: readonly string[] = []) =>
    writeAnswer(request, response, {
      status,
      headers: ["content-type", type, "cache-control", "no-store", ...more],
      body,
    });
  const state = (status: number, word: string) => reply(status, "application/json", JSON.stringify({ status: word }));
  const list = (read: (() => object) | undefined) =>
    read ? reply(200, "application/json", JSON.stringify(read())) : state(404, "not_found");
  const allowOnly = (methods: string) =>
    reply(405, "application/json", JSON.stringify({ status: "method_not_allowed" }), ["allow", methods]);
  const path = pathOf(request);
  if (path === quitPath) {
    if (endpoints.quit === undefined) return state(404, "not_found");
    if (request.method !== "POST") return allowOnly("POST");
    // Neither another pod nor a web page that posts a form may end it.
    if (!isLoopback(request.socket.remoteAddress ?? "") || request.headers.origin !== undefined)
      return state(403, "forbidden");
    await state(202, "draining");
    return endpoints.quit();
  }
  if (request.method !== "GET" && request.method !== "HEAD") return allowOnly("GET, HEAD");
  switch (path) {
    case "/__svc/livez":
      return state(200, "ok");
    case "/__svc/readyz":
      return endpoints.isReady() ? state(200, "ok") : state(503, "draining");
    case "/__svc/metrics": {
      const { contentType, body } = await endpoints.events.render();
      return reply(200, contentType, body);
    }
    case "/__svc/unlisted":
      return list(endpoints.unlisted);
    case "/__svc/hosts":
      return list(endpoints.hosts);
    case "/__svc/changed":
      return list(endpoints.changed);
    default:
      return state(404, "not_found");
  }
}
