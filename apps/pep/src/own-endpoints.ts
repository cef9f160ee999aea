import type { IncomingMessage, ServerResponse } from "node:http";
import { answer } from "./answer.ts";
import type { Events } from "./events.ts";

const prefix = "/__svc/";

/** A request for the enforcement point itself: it never passes the decision point (contract: Two listeners). */
export const isOwnPath = (target: string): boolean => target.startsWith(prefix);

export interface OwnEndpoints {
  readonly events: Pick<Events, "render">;
  /** False from the moment the process is told to stop. */
  readonly isReady: () => boolean;
}

/** `/__svc/livez`, `/__svc/readyz`, `/__svc/metrics`. */
export async function serveOwn(
  endpoints: OwnEndpoints,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const reply = (status: number, type: string, body: string) =>
    answer(request, response, { status, headers: ["content-type", type, "cache-control", "no-store"], body });
  const state = (status: number, word: string) => reply(status, "application/json", JSON.stringify({ status: word }));
  if (request.method !== "GET" && request.method !== "HEAD") return state(405, "method_not_allowed");
  switch (request.url?.split("?")[0]) {
    case "/__svc/livez":
      return state(200, "ok");
    case "/__svc/readyz":
      return endpoints.isReady() ? state(200, "ok") : state(503, "draining");
    case "/__svc/metrics": {
      const { contentType, body } = await endpoints.events.render();
      return reply(200, contentType, body);
    }
    default:
      return state(404, "not_found");
  }
}
