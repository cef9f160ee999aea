import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server } from "node:https";
import { readBounded } from "@svc/core/read-bounded";
import { createHttpServer, listen, pathOf, readTls, reloadTls } from "@svc/host";
import type { Config } from "./config.ts";
import { type Answer, answerReview, webhooks } from "./review.ts";

/** The API server takes pods of up to 3 MiB, and a review of an update holds two. */
const maxBodyBytes = 7 * 1_048_576;

/** Time for the reviews in flight to finish. */
const deadlineMs = 15_000;

export async function startInjector(config: Config, log: (line: string) => void) {
  let isReady = true;
  const server = createHttpServer(
    { ...readTls(config.tls), minVersion: "TLSv1.2" },
    {
      request(request, response) {
        answerRequest(config, request, isReady).then(
          (answer) => reply(response, answer),
          () => response.destroy(),
        );
      },
    },
  );
  const listening = await listen(server, config);
  const watching = reloadTls(server as Server, config.tls, {
    onLoaded: () => log("certificate loaded again"),
    onRefused: () => log("WARNING: the changed certificate cannot be used yet; the old one keeps serving"),
  });
  return {
    port: listening.port,
    /** From now on `/readyz` returns 503 and each response closes its connection; reviews are still answered. */
    stopBeingReady: () => {
      isReady = false;
      listening.closeAfterResponses();
    },
    /** Finishes the reviews in flight and closes the server. */
    async stop() {
      watching.stop();
      await listening.drain(deadlineMs);
    },
  };
}

async function answerRequest(config: Config, request: IncomingMessage, isReady: boolean): Promise<Answer> {
  const path = pathOf(request);
  if (path === "/livez" || path === "/readyz") {
    if (request.method !== "GET" && request.method !== "HEAD")
      return { status: 405, allow: "GET, HEAD", body: { error: "a probe is called by GET" } };
    return path === "/readyz" && !isReady
      ? { status: 503, body: { status: "stopping" } }
      : { status: 200, body: { status: "ok" } };
  }
  const webhook = webhooks.get(path);
  if (webhook === undefined)
    return { status: 404, body: { error: `unknown path; the webhooks are ${[...webhooks.keys()].join(", ")}` } };
  if (request.method !== "POST") return { status: 405, allow: "POST", body: { error: "a webhook is called by POST" } };
  if (!/^application\/json(?:\s*;|$)/.test(request.headers["content-type"] ?? "")) {
    return { status: 415, body: { error: "the body must be application/json" } };
  }
  const body = await readBounded(request, maxBodyBytes);
  if (body === undefined) return { status: 413, body: { error: "the body is larger than the API server sends any" } };
  return answerReview(Buffer.from(body).toString("utf8"), config.injection, webhook);
}

function reply(response: ServerResponse, { status, allow, body }: Answer): void {
  response.writeHead(status, {
    "content-type": "application/json",
    ...(allow !== undefined && { allow }),
    ...(status === 413 && { connection: "close" }),
  });
  response.end(JSON.stringify(body));
}
