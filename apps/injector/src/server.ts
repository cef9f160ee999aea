import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { watchFiles } from "@svc/host";
import { type Answer, answerReview, webhooks } from "./answer.ts";
import type { Config } from "./config.ts";

export interface Injector {
  readonly port: number;
  /** From now on `/readyz` answers 503 and each answer closes its connection; reviews are answered all the same. */
  letGo(): void;
  /** Finishes what it was asked, and ends. */
  stop(): Promise<void>;
}

/** The API server's limit for a request is 3 MiB. */
const maxBodyBytes = 3 * 1_048_576;

export async function startInjector(config: Config, tell: (line: string) => void): Promise<Injector> {
  let isLettingGo = false;
  const server = createServer({ ...readTls(config), minVersion: "TLSv1.2" }, (request, response) => {
    if (isLettingGo) response.setHeader("connection", "close");
    answerRequest(config, request, !isLettingGo).then(
      (answer) => reply(response, answer),
      () => response.destroy(),
    );
  });
  server.listen(config.port, config.host);
  await once(server, "listening");
  const watching = watchFiles(
    () => Object.values(config.tls),
    () => reloadTls(server, config, tell),
  );
  return {
    port: (server.address() as AddressInfo).port,
    letGo: () => {
      isLettingGo = true;
    },
    async stop() {
      watching.stop();
      const closed = once(server, "close");
      server.close();
      server.closeIdleConnections();
      await closed;
    },
  };
}

const readTls = ({ tls }: Config) => ({ cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) });

/** Certificate and key change one after the other, so a pair that does not fit is kept out and tried again later. */
function reloadTls(server: Server, config: Config, tell: (line: string) => void): void {
  try {
    server.setSecureContext(readTls(config));
    tell("certificate loaded again");
  } catch {
    tell("WARNING: the changed certificate cannot be used yet; the old one keeps serving");
  }
}

async function answerRequest(config: Config, request: IncomingMessage, isReady: boolean): Promise<Answer> {
  const [path = ""] = (request.url ?? "").split("?");
  if (path === "/readyz" && !isReady) return { status: 503, body: { status: "stopping" } };
  if (path === "/livez" || path === "/readyz") return { status: 200, body: { status: "ok" } };
  const strictness = webhooks.get(path);
  if (strictness === undefined)
    return { status: 404, body: { error: "unknown path; the webhooks are /mutate and /mutate-weaker" } };
  if (request.method !== "POST") return { status: 405, body: { error: "a webhook is called by POST" } };
  if (!/^application\/json(?:\s*;|$)/.test(request.headers["content-type"] ?? "")) {
    return { status: 415, body: { error: "the body must be application/json" } };
  }
  const body = await readBody(request);
  if (body === undefined) return { status: 413, body: { error: "the body is larger than the API server sends any" } };
  return answerReview(body, config.injection, strictness);
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function reply(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, {
    "content-type": "application/json",
    ...(status === 405 && { allow: "POST" }),
    ...(status === 413 && { connection: "close" }),
  });
  response.end(JSON.stringify(body));
}
