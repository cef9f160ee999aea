import { once } from "node:events";
import { createServer, request as httpRequest, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import fastify, { type FastifyRequest } from "fastify";
import { Hono } from "hono";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type Admission,
  admissionOf,
  createVerifier,
  expressAdmission,
  fastifyAdmission,
  fetchAdmission,
  honoAdmission,
} from "../src/index.ts";
import { callHeaders, dataClass, headersOf, hopClaims, issuer, jwks, params, sign, target } from "./support/tokens.ts";

const newVerifier = () => createVerifier({ issuer, audience: target, jwks, identityView: "off" });

type Ask = (
  headers: Record<string, string | string[]>,
  body?: string,
) => Promise<{ status: number; headers: Headers; text: string }>;

/** What every handler below returns: the caller, and the body that it reads. */
const resultOf = (admission: Admission | undefined, body: unknown) => ({ caller: admission?.caller, body });

async function served(listener: RequestListener): Promise<Ask> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  // Not fetch, which could not send a header twice.
  return async (headers, body = params) => {
    const length = String(Buffer.byteLength(body));
    const sent = { "content-type": "application/json", "content-length": length, ...headers };
    const request = httpRequest({ port, host: "127.0.0.1", method: "POST", path: "/entries", headers: sent }).end(body);
    const [response] = await once(request, "response");
    return {
      status: response.statusCode,
      headers: new Headers(Object.entries<string>(response.headers)),
      text: (await response.toArray()).join(""),
    };
  };
}

const servedFetch =
  (handle: (request: Request) => Response | Promise<Response>): Ask =>
  async (headers, body = params) => {
    const sent = Object.entries({ "content-type": "application/json", ...headers }).flatMap(([name, values]) =>
      [values].flat().map((value): [string, string] => [name, value]),
    );
    const response = await handle(new Request("http://ledger.test/entries", { method: "POST", headers: sent, body }));
    return { status: response.status, headers: response.headers, text: await response.text() };
  };

const frameworks: Record<string, () => Promise<Ask>> = {
  fetch: async () =>
    servedFetch(
      fetchAdmission({ verifier: newVerifier(), dataClass }, async (request, admission) =>
        Response.json(resultOf(admission, await request.json())),
      ),
    ),
  hono: async () => {
    const app = new Hono();
    app.use("/entries", honoAdmission({ verifier: newVerifier(), dataClass: () => dataClass }));
    app.post("/entries", async (c) => c.json(resultOf(admissionOf(c.req.raw), await c.req.json())));
    return servedFetch((request) => app.fetch(request));
  },
  express: async () => {
    const app = express();
    app.use(express.json());
    app.post("/entries", expressAdmission({ verifier: newVerifier(), dataClass }), (req, res) => {
      res.json(resultOf(admissionOf(req), req.body));
    });
    return served(app);
  },
  "express with raw bodies": async () => {
    const app = express();
    app.use(express.raw({ type: "*/*" }));
    app.post("/entries", expressAdmission({ verifier: newVerifier(), dataClass }), (req, res) => {
      res.json(resultOf(admissionOf(req), JSON.parse(String(req.body))));
    });
    return served(app);
  },
  fastify: async () => {
    const app = fastify();
    onTestFinished(() => app.close());
    app.post(
      "/entries",
      {
        preHandler: fastifyAdmission({
          verifier: newVerifier(),
          dataClass: (r: FastifyRequest) => (r.url === "/entries" ? dataClass : ""),
        }),
      },
      async (request) => resultOf(admissionOf(request), request.body),
    );
    await app.ready();
    return served((request, response) => app.routing(request, response));
  },
};

describe.each(Object.entries(frameworks))("%s", (_name, start) => {
  test("an admitted call reaches its handler, which can read the caller and the body", async () => {
    const ask = await start();
    const { status, text } = await ask(await callHeaders());
    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual({ caller: "planner", body: JSON.parse(params) });
  });

  test("a privileged call is bound to its body and admitted once", async () => {
    const ask = await start();
    const headers = await callHeaders({ privileged: true });
    expect(JSON.parse((await ask(headers, '{"amount":99,"to":"7"}')).text).error.code).toBe("params_mismatch");
    expect((await ask(headers)).status).toBe(200);
    const again = await ask(headers);
    expect(again.status).toBe(403);
    expect(JSON.parse(again.text).error.code).toBe("replayed");
  });

  test("a body that is not an object cannot be bound", async () => {
    const ask = await start();
    const headers = await callHeaders({ privileged: true });
    expect(JSON.parse((await ask(headers, "[12.5]")).text).error.code).toBe("params_mismatch");
  });

  test("without a token: 401 with a challenge and the usual envelope, and the handler is not called", async () => {
    const { status, headers, text } = await (await start())({});
    expect(status).toBe(401);
    expect(headers.get("www-authenticate")).toBe("Bearer");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("content-type")).toMatch(/^application\/json/);
    expect(JSON.parse(text)).toEqual({ error: { code: "missing_token", message: "The call is not admitted." } });
  });

  test("two tokens are refused in either order", async () => {
    const authorization = [`Bearer ${await sign(hopClaims())}`, `Bearer ${await sign(hopClaims())}`];
    const { status, text } = await (await start())({ ...(await callHeaders()), authorization });
    expect(status).toBe(401);
    expect(JSON.parse(text).error.code).toBe("malformed");
  });

  test("for another data class: 403 and insufficient_scope", async () => {
    const headers = await callHeaders({ scope: "hr" });
    const answer = await (await start())(headers);
    expect(answer.status).toBe(403);
    expect(answer.headers.get("www-authenticate")).toBe('Bearer error="insufficient_scope"');
  });
});

test("a fetch handler gets what its runtime passes after the request", async () => {
  const handler = fetchAdmission(
    { verifier: newVerifier(), dataClass },
    (_request, { caller }, route: { readonly id: string }) => Response.json({ caller, id: route.id }),
  );
  const request = new Request("http://ledger/entries/7", { headers: await callHeaders() });
  expect(await (await handler(request, { id: "7" })).json()).toEqual({ caller: expect.any(String), id: "7" });
});

test("a call that cannot be verified is a 503 without a cause", async () => {
  const store = { admitOnce: () => Promise.reject(new Error("redis://secret is down")) };
  const verifier = createVerifier({ issuer, audience: target, jwks, identityView: "off", replayStore: store });
  const ask = servedFetch(fetchAdmission({ verifier, dataClass }, () => new Response("served")));
  const { status, headers, text } = await ask(await callHeaders({ privileged: true }));
  expect(status).toBe(503);
  expect(headers.get("retry-after")).toBe("1");
  expect(JSON.parse(text)).toEqual({ error: { code: "unavailable", message: "The call is not admitted." } });
});

test("a body too long to be bound is not admitted and not read whole", async () => {
  const ask = servedFetch(fetchAdmission({ verifier: newVerifier(), dataClass }, () => new Response("served")));
  const long = JSON.stringify({ text: "x".repeat(786_432) });
  expect(JSON.parse((await ask(await callHeaders({ privileged: true }, "{}"), long)).text).error.code).toBe(
    "params_mismatch",
  );
});

test("a route can name its own target", async () => {
  const options = {
    verifier: newVerifier(),
    dataClass,
    audience: (request: Request) => `http:ledger${new URL(request.url).pathname}`,
  };
  const ask = servedFetch(fetchAdmission(options, () => new Response("served")));
  expect((await ask(await callHeaders({ audience: "http:ledger/entries" }))).text).toBe("served");
  expect((await ask(headersOf(await sign(hopClaims())))).status).toBe(401);
});
