import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getRequestListener } from "@hono/node-server";
import Router from "@koa/router";
import { freePort, startChild, waitUntil } from "@svc/test-support";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";

/** Every handler, the specific ones first: the name in `x-handler` is its path. */
export const served = [
  ...["/admin", "/admin/keys", "/admin/*", "/users/me", "/users/:id", "/users/:id/keys", "/reports/daily.json"],
  ...["/reports/daily", "/files/*", "/", "/:page"],
] as const;

export interface PathServer {
  readonly url: string;
  stop(): Promise<unknown>;
}

const handlerHeader = "x-handler";

async function listening(server: Server): Promise<PathServer> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const withNamedRest = (path: string): string => path.replace("*", "*rest");

function expressServer() {
  const app = express();
  for (const path of served) {
    app.get(withNamedRest(path), (_request, response) => void response.set(handlerHeader, path).end());
  }
  return listening(createServer(app));
}

async function fastifyServer(isLiberal: boolean) {
  const routerOptions = {
    caseSensitive: !isLiberal,
    ignoreTrailingSlash: isLiberal,
    ignoreDuplicateSlashes: isLiberal,
    useSemicolonDelimiter: isLiberal,
  };
  const app = fastify({ routerOptions });
  for (const path of served) app.get(path, (_request, reply) => reply.header(handlerHeader, path).send(""));
  return { url: await app.listen({ port: 0, host: "127.0.0.1" }), stop: () => app.close() };
}

function koaServer() {
  const [app, router] = [new Koa(), new Router()];
  for (const path of served) {
    router.get(withNamedRest(path), (context) => {
      context.set(handlerHeader, path);
      context.status = 200;
    });
  }
  app.use(router.routes());
  return listening(createServer(app.callback()));
}

function honoServer(strict: boolean) {
  const app = new Hono({ strict });
  for (const path of served) app.get(path, (context) => context.body("", 200, { [handlerHeader]: path }));
  return listening(createServer(getRequestListener(app.fetch)));
}

/** The path as a regular expression of the web servers. */
const expressionOf = (path: string): string =>
  `^${path
    .replaceAll(".", "\\.")
    .replace("*", ".+")
    .replaceAll(/:[a-z]+/g, "[^/]+")}$`;

async function program(file: string, config: (port: number, folder: string) => string, args: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), "path-server-"));
  mkdirSync(join(folder, "tmp"));
  const [port, name] = [await freePort(), join(folder, "server.conf")];
  writeFileSync(name, config(port, folder));
  const child = startChild(file, [...args, name]);
  const url = `http://127.0.0.1:${port}`;
  await waitUntil(`${file} to serve`, async () => {
    if (child.hasExited()) throw new Error(child.output());
    return fetch(url).then(
      () => true,
      () => false,
    );
  });
  return {
    url,
    async stop() {
      await child.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** @param compare `~`, or `~*` without case, as on file systems that fold it */
const nginxServer = (compare: "~" | "~*") =>
  program(
    "nginx",
    (port, folder) => `
      daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/log; user root;
      events {}
      http {
        access_log off;
        ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${folder}/tmp/${name};`).join(" ")}
        server {
          listen 127.0.0.1:${port};
          ${served.map((path) => `location ${compare} "${expressionOf(path)}" { add_header ${handlerHeader} "${path}"; return 200 ""; }`).join("\n")}
        }
      }`,
    ["-c"],
  );

/** The answer is 404: what counts is the block that it took. */
const lighttpdServer = () =>
  program(
    "lighttpd",
    (port, folder) => `
      server.document-root = "${folder}/tmp"
      server.bind = "127.0.0.1"
      server.port = ${port}
      server.modules = ("mod_setenv")
      ${served.map((path) => `$HTTP["url"] =~ "${expressionOf(path)}" { setenv.add-response-header = ("${handlerHeader}" => "${path}") }`).join("\nelse ")}`,
    ["-D", "-f"],
  );

/** How each server is started; the programs need their part of the machine. */
export const pathServers = {
  express: expressServer,
  fastify: () => fastifyServer(false),
  "liberal-fastify": () => fastifyServer(true),
  koa: koaServer,
  hono: () => honoServer(true),
  "liberal-hono": () => honoServer(false),
  nginx: () => nginxServer("~"),
  "folding-nginx": () => nginxServer("~*"),
  lighttpd: lighttpdServer,
} satisfies Record<string, () => Promise<PathServer>>;

export type PathServerName = keyof typeof pathServers;

/** The handler that a request reached; undefined where it reached none. */
export function handlerOf(url: string, method: string, path: string, headers = {}): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, path, headers }, (response) => {
      response.resume().once("error", reject);
      const handler = response.headers[handlerHeader];
      resolve(typeof handler === "string" ? handler : undefined);
    });
    sent.once("error", reject).end();
  });
}
