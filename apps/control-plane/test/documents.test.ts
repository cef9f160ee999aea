import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createApp } from "../src/routes/app.ts";
import { startPlane } from "./support.ts";

let plane: Awaited<ReturnType<typeof startPlane>>;
let document: Document;
beforeAll(async () => {
  plane = await startPlane();
  document = (await plane.send("/openapi.json", { token: "" })).json as unknown as Document;
});
afterAll(() => plane.stop());

interface Operation {
  readonly summary: string;
  readonly security: readonly Record<string, unknown>[];
  readonly responses: Record<string, { content?: Record<string, { schema: { $ref?: string } }> }>;
  readonly parameters?: readonly { name: string; in: string; schema: object }[];
  readonly requestBody?: { content: Record<string, { schema: object }> };
}
interface Document extends Record<string, unknown> {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, Record<string, unknown>> };
}

const operation = (method: string, path: string): Operation => {
  const found = document.paths[path]?.[method];
  if (found === undefined) throw new Error(`${method} ${path} is not documented`);
  return found;
};

describe("the OpenAPI document", () => {
  test("is valid OpenAPI 3.1", async () => {
    const result = await new Validator().validate(structuredClone(document));
    expect(result.errors ?? []).toEqual([]);
    expect(document.openapi).toBe("3.1.0");
  });

  test("has no dangling reference", () => {
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)];
    expect(refs.length).toBeGreaterThan(20);
    for (const [, name = ""] of refs) expect(document.components.schemas).toHaveProperty([name]);
    expect(JSON.stringify(document)).not.toContain("#/$defs/");
  });

  test("describes every route", () => {
    const served = createApp(plane.deps).routes.filter(({ method }) => method !== "ALL");
    for (const { method, path } of served) {
      operation(method.toLowerCase(), path.replaceAll(/:(\w+)/g, "{$1}"));
    }
    expect(served.length).toBeGreaterThan(20);
  });

  test("has exactly the routes of the README, with their summaries", () => {
    const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
    const rows = readme.matchAll(/^\| `([A-Z]+ \/\S*)` *\|[^|]*\| (.*?) *\|$/gm);
    const listed = [...rows].map(([, route, does]) => `${route}: ${does}`);
    const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { summary }]) => `${method.toUpperCase()} ${path}: ${summary}`),
    );
    expect(listed.toSorted()).toEqual(documented.toSorted());
  });

  test.each([
    ["post", "/v1/consent", [{ admin: [] }]],
    ["get", "/v1/audit/decisions", [{ audit: [] }, { admin: [] }]],
    ["post", "/v1/authorize", [{ hop: [] }]],
    ["get", "/livez", []],
  ])("names the bearers that %s %s accepts", (method, path, security) => {
    expect(operation(method, path).security).toEqual(security);
  });

  test("names the refusals of an operation, each with its shape", () => {
    const { responses } = operation("post", "/v1/agents");
    expect(Object.keys(responses).toSorted()).toEqual(
      ["201", "400", "401", "409", "413", "415", "422", "429", "500", "503"].toSorted(),
    );
    expect(responses["409"]?.content?.["application/json"]?.schema).toEqual({
      $ref: "#/components/schemas/ErrorEnvelope",
    });
    expect(JSON.stringify(operation("post", "/v1/token/exchange").responses["400"])).toContain("error_description");
  });

  test("describes parameters and bodies as they are validated", () => {
    const limit = operation("get", "/v1/agents").parameters?.find(({ name }) => name === "limit");
    expect(limit?.schema).toMatchObject({ type: "integer", minimum: 1, maximum: 200, default: 50 });
    expect(document.components.schemas.AgentCreate).toMatchObject({
      type: "object",
      additionalProperties: false,
      required: ["name", "manifest"],
      properties: {
        manifest: {
          properties: {
            scopes: {
              type: "object",
              additionalProperties: { properties: { hop_budget: { type: "integer", minimum: 1, maximum: 32 } } },
            },
          },
        },
      },
    });
  });

  test("is made once", async () => {
    const one = await plane.send("/openapi.json");
    expect(one.json).toEqual(document);
  });
});

describe("the page for people", () => {
  test("allows no script but those of this service, and names no other host", async () => {
    const page = await plane.send("/docs", { token: "" });
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    const policy = page.headers.get("content-security-policy");
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; /);
    expect(page.text).not.toMatch(/https?:\/\/|<script>/);
  });

  test("has its scripts from this service", async () => {
    const start = await plane.send("/docs/start.js", { token: "" });
    expect(start.text).toContain('"url":"openapi.json"');
    const reference = await createApp(plane.deps).request("https://plane.test/docs/reference.js");
    expect(reference.headers.get("content-encoding")).toBe("gzip");
    expect(gunzipSync(await reference.arrayBuffer()).toString()).toContain("createApiReference");
  });
});

describe("the issuer's metadata", () => {
  test("has the members of RFC 8414, with the issuer's URLs", async () => {
    const { json, headers } = await plane.send("/.well-known/oauth-authorization-server", { token: "" });
    expect(json).toMatchObject({
      issuer: "https://plane.test",
      token_endpoint: "https://plane.test/v1/token/exchange",
      jwks_uri: "https://plane.test/.well-known/jwks.json",
      grant_types_supported: ["urn:ietf:params:oauth:grant-type:token-exchange"],
      response_types_supported: [],
    });
    expect(headers.get("cache-control")).toBe("public, max-age=60");
  });

  test("of an issuer with a path is also where RFC 8414 section 3.1 puts it", async () => {
    const deps = { ...plane.deps, issuer: "https://plane.test/authz" };
    const app = createApp(deps);
    const answers = ["", "/authz", "/other"].map(async (path) => {
      const response = await app.request(`https://plane.test/.well-known/oauth-authorization-server${path}`);
      return [response.status, ((await response.json()) as { issuer?: string }).issuer];
    });
    expect(await Promise.all(answers)).toEqual([
      [200, deps.issuer],
      [200, deps.issuer],
      [404, undefined],
    ]);
  });
});
