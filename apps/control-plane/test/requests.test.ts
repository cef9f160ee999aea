import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { aManifest, aTool } from "@svc/test-support";
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

const registration = (changes: object = {}) => ({
  name: "some-agent",
  manifest: aManifest("some-scope", { tools: [aTool("http:a/b")] }),
  override: {},
  ...changes,
});

describe("a registration is refused with the place of its fault", () => {
  const inScope = (changes: object) => ({ manifest: { scopes: { s: { hop_budget: 1, ...changes } } } });
  const inTool = (changes: object) => inScope({ tools: [{ ref: "a", data_classes: ["d"], ...changes }] });
  test.each([
    ["no name", { name: undefined }, "name"],
    ["a name in capitals", { name: "Agent" }, "name"],
    ["a name with NUL", { name: "a\u0000" }, "name"],
    ["a name of 129 characters", { name: "a".repeat(129) }, "name"],
    ["no manifest", { manifest: undefined }, "manifest"],
    ["an unknown member", { nmae: "x" }, ""],
    ["an unknown member of the override", { override: { why: "x" } }, "override"],
    ["a reason with NUL", { override: { reason: "a\u0000b" } }, "override.reason"],
    ["an empty reason", { override: { reason: "" } }, "override.reason"],
    ["an override that is text", { override: "because" }, "override"],
    ["no scopes", { manifest: { scopes: {} } }, "manifest.scopes"],
    [
      "a scope with a control character",
      { manifest: { scopes: { "a\nb": { hop_budget: 1 } } } },
      'manifest.scopes["a\\nb"]',
    ],
    [
      "a scope of 256 characters",
      { manifest: { scopes: { ["x".repeat(256)]: { hop_budget: 1 } } } },
      `manifest.scopes.${"x".repeat(256)}`,
    ],
    ["an unknown member of a scope", inScope({ budget: 1 }), "manifest.scopes.s"],
    ["a budget of 0", inScope({ hop_budget: 0 }), "manifest.scopes.s.hop_budget"],
    ["a budget of 33", inScope({ hop_budget: 33 }), "manifest.scopes.s.hop_budget"],
    ["a budget that is text", inScope({ hop_budget: "1" }), "manifest.scopes.s.hop_budget"],
    ["a fractional budget", inScope({ hop_budget: 1.5 }), "manifest.scopes.s.hop_budget"],
    ["a tool without classes", inTool({ data_classes: [] }), "manifest.scopes.s.tools[0].data_classes"],
    ["a class twice", inTool({ data_classes: ["d", "d"] }), "manifest.scopes.s.tools[0].data_classes"],
    ["a class with an empty segment", inTool({ data_classes: ["a..b"] }), "manifest.scopes.s.tools[0].data_classes[0]"],
    ["a ref with a space", inTool({ ref: "a b" }), "manifest.scopes.s.tools[0].ref"],
    ["the implicit tool of a server", inTool({ ref: "mcp:server" }), "manifest.scopes.s.tools[0].ref"],
    ["a misspelt access", inTool({ access: "wirte" }), "manifest.scopes.s.tools[0].access"],
    [
      "a discovery URL of another scheme",
      { manifest: { ...aManifest("s"), discovery: { kind: "http", url: "file:///etc" } } },
      "manifest.discovery.url",
    ],
  ])("%s", async (_name, changes, path) => {
    const answer = await plane.send("/v1/agents", { body: registration(changes) });
    expect(answer).toMatchObject({
      status: 400,
      json: {
        error: { code: "invalid_request" },
        details: { issues: expect.arrayContaining([expect.objectContaining({ path })]) },
      },
    });
  });

  test("5 MB", async () => {
    const answer = await plane.send("/v1/agents", { body: registration({ name: "x".repeat(5_000_000) }) });
    expect(answer).toMatchObject({ status: 413, json: { error: { code: "payload_too_large" } } });
  });

  test("a scope named __proto__", async () => {
    const body = '{"name":"a","manifest":{"scopes":{"__proto__":{"hop_budget":1}}},"override":{}}';
    expect((await plane.send("/v1/agents", { body })).status).toBe(400);
  });

  test("and nothing of it was registered", async () => {
    expect((await plane.send("/v1/agents")).json.data).toEqual([]);
  });
});

describe("a page's limit", () => {
  test.each(["0", "-1", "201", "1000000000", "1.5", "x", "", "1e1", "+1"])("of %j is refused", async (limit) => {
    for (const path of ["/v1/agents", "/v1/audit/decisions", "/v1/decisions"]) {
      expect((await plane.send(`${path}?limit=${limit}`)).json).toMatchObject({
        error: { code: "invalid_request" },
        details: { issues: [{ path: "limit" }] },
      });
    }
  });

  test.each([
    ["1", 1],
    ["200", 200],
    ["%31", 1],
  ])("of %j is taken", async (limit, want) => {
    expect((await plane.send(`/v1/agents?limit=${limit}`)).json).toMatchObject({
      page: { limit: want, next_cursor: null },
    });
  });

  test("named twice is refused", async () => {
    expect((await plane.send("/v1/agents?limit=1&limit=1")).status).toBe(400);
  });
});

describe("a path", () => {
  test.each([
    ["/v1/nothing", 404, "route_not_found"],
    ["/", 404, "route_not_found"],
    ["/v1/agents/", 404, "route_not_found"],
    ["/v1//agents", 404, "route_not_found"],
    ["/V1/agents", 404, "route_not_found"],
    ["/v1/manifests/%2e%2e", 404, "route_not_found"],
    ["/v1/manifests/%2E", 404, "route_not_found"],
    ["/v1/manifests/a%2Fb", 404, "scope_not_found"],
    ["/v1/manifests/a/b", 404, "route_not_found"],
    ["/v1/manifests/%2e%2e%2fagents", 404, "scope_not_found"],
    ["/v1/manifests/a%00b", 400, "invalid_request"],
    ["/v1/manifests/a%0ab", 400, "invalid_request"],
    ["/v1/manifests/a%7fb", 400, "invalid_request"],
    ["/v1/manifests/%zz", 400, "invalid_request"],
    ["/v1/manifests/%", 400, "invalid_request"],
    ["/v1/manifests/%ff", 400, "invalid_request"],
    ["/v1/manifests/%c0%ae", 400, "invalid_request"],
  ])("%s is %i %s, also without a client that tidies it up", async (path, status, code) => {
    const wire = await overTheWire(path, { headers: asAdmin });
    expect({ status: wire.status, code: JSON.parse(wire.text).error.code }).toEqual({ status, code });
    expect(wire.headers["cache-control"]).toBe("no-store");
  });

  test("is decoded once: any scope reads back under its encoded name and no other", () =>
    fc.assert(
      fc.asyncProperty(
        fc
          .string({ unit: "grapheme", minLength: 1, maxLength: 20 })
          .filter((name) => !/\p{Cc}/u.test(name) && !/^\.{1,2}$/.test(name)),
        async (name) => {
          const asked: string[] = [];
          const app = createApp({
            ...plane.deps,
            policies: { ...plane.deps.policies, latest: async (scope) => void asked.push(scope) },
          });
          const path = `/v1/scopes/${encodeURIComponent(name)}/catalog`;
          const answer = await app.request(path, { headers: asAdmin });
          expect(answer.status).toBe(404);
          expect(asked).toEqual([name]);
        },
      ),
    ));
});

describe("a method that a route does not take", () => {
  test.each([
    ["PUT", "/v1/agents", "POST, GET, HEAD"],
    ["DELETE", "/v1/consent", "POST"],
    ["GET", "/v1/consent", "POST"],
    ["POST", "/v1/agents/resolve", "GET, HEAD"],
    ["PATCH", "/v1/manifests/x", "GET, HEAD"],
    ["OPTIONS", "/livez", "GET, HEAD"],
  ])("%s %s is 405 and names those it takes", async (method, path, allow) => {
    const answer = await plane.send(path, { method });
    expect(answer).toMatchObject({ status: 405, json: { error: { code: "method_not_allowed" } } });
    expect(answer.headers.get("allow")).toBe(allow);
  });

  test("HEAD is answered like GET, without a body", async () => {
    expect(await plane.send("/livez", { method: "HEAD" })).toMatchObject({ status: 200, text: "" });
  });
});

describe("over the wire", () => {
  test("two Authorization headers are 401, whichever of them is right", async () => {
    const wrong = `Bearer ${"x".repeat(40)}`;
    for (const pair of [
      [asAdmin.authorization, asAdmin.authorization],
      [asAdmin.authorization, wrong],
      [wrong, asAdmin.authorization],
    ]) {
      const answer = await overTheWire("/v1/agents", { headers: { authorization: pair } });
      expect(answer.status).toBe(401);
    }
  });

  test("a bearer of 8 kB is 401", async () => {
    const answer = await overTheWire("/v1/agents", { headers: { authorization: `Bearer ${"x".repeat(8_192)}` } });
    expect(answer.status).toBe(401);
  });

  const post = (body: string, headers: Record<string, string> = {}) =>
    overTheWire("/v1/consent", {
      method: "POST",
      body,
      headers: { ...asAdmin, "content-type": "application/json", ...headers },
    });

  test("a body of the cap is read, one byte more is 413, declared or chunked", async () => {
    const padded = (bytes: number) => `{"scope":"none-such","user_sub":"u"${" ".repeat(bytes - 36)}}`;
    expect(padded(100)).toHaveLength(100);
    const chunked = { "transfer-encoding": "chunked" };
    expect((await post(padded(bodyCapBytes))).status).toBe(404);
    expect((await post(padded(bodyCapBytes), chunked)).status).toBe(404);
    expect((await post(padded(bodyCapBytes + 1))).status).toBe(413);
    expect((await post(padded(bodyCapBytes + 1), chunked)).status).toBe(413);
  });

  test("a POST without a body is told what is missing", async () => {
    expect((await overTheWire("/v1/consent", { method: "POST", headers: asAdmin })).status).toBe(415);
    expect((await post("")).status).toBe(400);
  });
});

describe("a fault that nobody foresaw", () => {
  const secret = "password=s3cr3t at /srv/app.ts:1";

  test("is 500 without a word about its cause, and is reported", async () => {
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

  test("of the database is 503 and worth another try", async () => {
    const fault = Object.assign(new Error(secret), { code: "database_unavailable" });
    const app = plane.with({ manifests: { ...plane.deps.manifests, listAgents: () => Promise.reject(fault) } });
    const answer = await app.send("/v1/agents");
    expect(answer).toMatchObject({ status: 503, json: { error: { code: "database_unavailable" } } });
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(answer.text).not.toContain("s3cr3t");
  });
});
