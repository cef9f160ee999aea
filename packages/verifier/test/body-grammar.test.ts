import { once } from "node:events";
import { createServer, request as httpRequest, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import formbody from "@fastify/formbody";
import { getRequestListener } from "@hono/node-server";
import { bodyParser } from "@koa/bodyparser";
import { hostileBodies, hostileContentTypes, plainContentTypes } from "@svc/test-support";
import { bindParams, bindParamsValue } from "@svc/tokens";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { describe, expect, onTestFinished, test } from "vitest";
import { createVerifier, expressAdmission, fastifyAdmission, fetchAdmission, honoAdmission } from "../src/index.ts";
import { callHeaders, dataClass, issuer, jwks, target } from "./support/tokens.ts";

const options = () => ({
  verifier: createVerifier({ issuer, audience: target, jwks, identityView: "off" }),
  dataClass,
});

/** Applications that read every type they can, and answer with the parameters that they act on. */
const applications: Record<string, () => RequestListener | Promise<RequestListener>> = {
  express() {
    const app = express();
    app.use(express.json({ type: ["json", "+json"], strict: false }), express.urlencoded({ extended: true }));
    app.use(express.text({ type: "text/*" }));
    app.post("/", expressAdmission(options()), (req, res) => void res.json(readText(req.body)));
    return app;
  },
  async fastify() {
    const app = fastify();
    onTestFinished(() => app.close());
    await app.register(formbody);
    const json = app.getDefaultJsonParser("ignore", "ignore");
    app.addContentTypeParser(/^application\/.*\+json/, { parseAs: "string" }, json);
    app.addContentTypeParser(/^text\//, { parseAs: "string" }, json);
    app.post("/", { preHandler: fastifyAdmission(options()) }, async (request) => request.body);
    await app.ready();
    return (request, response) => app.routing(request, response);
  },
  koa() {
    const app = new Koa();
    app.silent = true;
    app.use(bodyParser({ enableTypes: ["json", "form", "text"], jsonStrict: false }));
    app.use(async (context, next) => {
      const { headers, headersDistinct } = context.req;
      const { body } = context.request;
      let isAdmitted = false;
      context.respond = false;
      await expressAdmission(options())({ headers, headersDistinct, body }, context.res, () => {
        isAdmitted = true;
      });
      context.respond = isAdmitted;
      if (isAdmitted) await next();
    });
    app.use((context) => {
      context.body = readText(context.request.body);
    });
    return app.callback();
  },
  hono() {
    const app = new Hono();
    app.post("/", honoAdmission(options()), async (c) => {
      const form = await c.req.parseBody();
      return c.json(Object.keys(form).length > 0 ? form : await c.req.json());
    });
    return getRequestListener(app.fetch);
  },
  "a fetch handler": () =>
    getRequestListener(
      fetchAdmission(options(), async (request) => {
        const type = request.headers.get("content-type") ?? "";
        return Response.json(/form/.test(type) ? Object.fromEntries(await request.formData()) : await request.json());
      }),
    ),
};

const readText = (body: unknown): unknown => (typeof body === "string" ? JSON.parse(body) : body);

/** What was bound: the body where it can be, and for others what a reader of JSON would make of it. */
function boundTo(body: string | Buffer): string {
  if (bindParams(body).ok) return body.toString();
  try {
    const text = JSON.stringify(JSON.parse(body.toString()));
    return bindParams(text).ok ? text : "{}";
  } catch {
    return "{}";
  }
}

const hashOf = (binding: ReturnType<typeof bindParams>): string | undefined =>
  binding.ok ? binding.paramsHash : undefined;

async function serving(listener: RequestListener) {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return async (body: string | Buffer, types: readonly string[], more: Record<string, string> = {}) => {
    const headers = await callHeaders({ privileged: true }, boundTo(body));
    const sent = gzipped(body, more);
    const raw = [...Object.entries({ ...headers, ...more }), ...types.map((type) => ["content-type", type])].flat();
    const length = ["host", "ledger.test", "content-length", String(Buffer.byteLength(sent))];
    const request = httpRequest({ port, method: "POST", path: "/", headers: [...raw, ...length] }).end(sent);
    const [response] = await once(request, "response");
    const text: string = (await response.toArray()).join("");
    return { status: response.statusCode as number, text };
  };
}

const gzipped = (body: string | Buffer, { "content-encoding": coding }: Record<string, string>) =>
  coding === "gzip" ? gzipSync(body) : body;

describe.each(Object.entries(applications))("%s acts on the bound parameters alone", (_name, start) => {
  test("whatever a body and its type are", async () => {
    const send = await serving(await start());
    const seen: string[] = [];
    for (const types of hostileContentTypes) {
      for (const body of hostileBodies) {
        const { status, text } = await send(body, types);
        const call = `${types.join(" + ")} | ${JSON.stringify(body.toString())}`;
        if (status !== 200) {
          expect([400, 403, 415, 422, 500], call).toContain(status);
          continue;
        }
        expect(hashOf(bindParamsValue(JSON.parse(text))), call).toBe(hashOf(bindParams(boundTo(body))));
        seen.push(call);
      }
    }
    for (const types of plainContentTypes) {
      for (const body of hostileBodies.slice(0, 2)) expect(seen).toContain(`${types[0]} | ${JSON.stringify(body)}`);
    }
  });

  test.each([
    "application/x-www-form-urlencoded",
    "text/plain",
    "application/json; charset=utf-7",
    "application/json; charset=utf-8; charset=utf-7",
    'application/json; x=";charset=utf-8"; charset=utf-7',
    "application/json; charset*=utf-8''utf-7",
  ])("a body of type %s is not admitted", async (type) => {
    const { status } = await (await serving(await start()))('{"a":"&amount=1000000&to=mallory&x="}', [type]);
    expect(status).not.toBe(200);
  });

  test("a compressed body is not admitted", async () => {
    const send = await serving(await start());
    expect((await send('{"a":1}', ["application/json"], { "content-encoding": "gzip" })).status).not.toBe(200);
    expect((await send('{"a":1}', ["application/json"], { "content-encoding": "identity" })).status).toBe(200);
  });
});
