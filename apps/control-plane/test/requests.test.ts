import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bodyCapBytes } from "../src/http/body.ts";
import { createApp } from "../src/routes/app.ts";
import { startPlane, tokens } from "./support.ts";

let plane: Awaited<ReturnType<typeof startPlane>>;
let server: Server;
beforeAll(async () => {
  plane = await startPlane();
  server = createServer(getRequestListener(createApp(plane.deps).fetch)).listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(async () => {
  server.close();
  await plane.stop();
});

interface OverTheWire {
  readonly method?: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: string;
}

/** A real request, its target and headers untouched by any client's own ideas. */
async function overTheWire(target: string, { method = "GET", headers = {}, body }: OverTheWire = {}) {
  const { port } = server.address() as AddressInfo;
  const sent = request({ host: "127.0.0.1", port, path: target, method, headers });
  sent.end(body);
  const [response] = await once(sent, "response");
  response.setEncoding("utf8");
  let text = "";
  for await (const chunk of response) text += chunk;
  return { status: response.statusCode as number, headers: response.headers, text };
}
const asAdmin = { authorization: `Bearer ${tokens.admin}` };

describe("a path", () => {
  test("is decoded once, for any scope's name", () =>
    fc.assert(
      fc.asyncProperty(
        fc
          .string({ unit: "grapheme", minLength: 1, maxLength: 20 })
          .filter((name) => !/\p{Cc}/u.test(name) && !/^\.{1,2}$/.test(name)),
        async (name) => {
          const scopes: string[] = [];
          const app = createApp({
            ...plane.deps,
            policies: { ...plane.deps.policies, latest: async (scope) => void scopes.push(scope) },
          });
          const path = `/v1/scopes/${encodeURIComponent(name)}/catalog`;
          const answer = await app.request(path, { headers: asAdmin });
          expect(answer.status).toBe(404);
          expect(scopes).toEqual([name]);
        },
      ),
    ));
});

describe("over the wire", () => {
  const post = (body: string, headers: Record<string, string> = {}) =>
    overTheWire("/v1/consent", {
      method: "POST",
      body,
      headers: { ...asAdmin, "content-type": "application/json", ...headers },
    });

  test("a body of the cap is read and one byte more is 413, declared or chunked", async () => {
    const padded = (bytes: number) => `{"scope":"none-such","user_sub":"u"${" ".repeat(bytes - 36)}}`;
    expect(padded(100)).toHaveLength(100);
    const chunked = { "transfer-encoding": "chunked" };
    expect((await post(padded(bodyCapBytes))).status).toBe(404);
    expect((await post(padded(bodyCapBytes), chunked)).status).toBe(404);
    expect((await post(padded(bodyCapBytes + 1))).status).toBe(413);
    expect((await post(padded(bodyCapBytes + 1), chunked)).status).toBe(413);
  });

  test("a POST without a type is 415, and without a body 400", async () => {
    expect((await overTheWire("/v1/consent", { method: "POST", headers: asAdmin })).status).toBe(415);
    expect((await post("")).status).toBe(400);
  });
});

describe("an unexpected fault", () => {
  const secret = "password=s3cr3t at /srv/app.ts:1";

  test("is 500 without its cause, and is reported", async () => {
    const reported: unknown[] = [];
    const fault = new Error(secret);
    const app = plane.with({
      events: { ...plane.deps.events, requestFailed: (error: unknown) => void reported.push(error) },
      manifests: { ...plane.deps.manifests, listAgents: () => Promise.reject(fault) },
    });
    const answer = await app.send("/v1/agents");
    expect(answer).toMatchObject({ status: 500, json: { error: { code: "internal" } } });
    expect(answer.text).not.toContain("s3cr3t");
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(reported).toEqual([fault]);
  });

  test("of the database is 503 with Retry-After", async () => {
    const fault = Object.assign(new Error(secret), { code: "database_unavailable" });
    const app = plane.with({ manifests: { ...plane.deps.manifests, listAgents: () => Promise.reject(fault) } });
    const answer = await app.send("/v1/agents");
    expect(answer).toMatchObject({ status: 503, json: { error: { code: "database_unavailable" } } });
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(answer.text).not.toContain("s3cr3t");
  });
});
