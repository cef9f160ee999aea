import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { runLint } from "../src/start/lint.ts";
import { readUpstreams } from "../src/upstreams/upstreams-file.ts";
import { startedProtectedPep } from "./support/protected.ts";
import { rawConnection } from "./support/raw.ts";
import { startedUpstream } from "./support/upstream.ts";

const routes = [{ methods: ["GET"], path: "/entries", target: "http:ledger/entries", data_class: "finance" }];
const oauth = { scope: ["expenses", "payments-approval"] };

async function setup(more: object = {}, settings: Record<string, string> = {}) {
  const upstream = await startedUpstream();
  const running = await startedProtectedPep({
    upstreams: [
      { name: "ledger", url: upstream.url, routes, oauth, ...more },
      { name: "files", url: `${upstream.url}/mcp`, protocol: "mcp", data_class: "docs", oauth: { scope: "expenses" } },
      { name: "plain", url: upstream.url, routes },
    ],
    settings,
  });
  const read = (path: string, headers: Record<string, string> = {}, init: RequestInit = {}) =>
    fetch(running.url + path, { ...init, headers, redirect: "manual" });
  return { ...running, upstream, read };
}

const wellKnown = "/.well-known/oauth-protected-resource";
const junk = `Bearer ${["{}", '{"sub":"x"}', "x"].map((part) => btoa(part).replaceAll("=", "")).join(".")}`;
const challengesOf = async (response: Promise<Response> | Response) => {
  const { status, headers } = await response;
  return [status, headers.get("www-authenticate")];
};

describe("the metadata of a protected resource (RFC 9728), before a double of the control plane", () => {
  test("name it, its authorization server and its scopes", async () => {
    const { read, publicUrl, controlPlane } = await setup();
    const response = await read(`${wellKnown}/ledger`);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(await response.json()).toEqual({
      resource: `${publicUrl}/ledger`,
      authorization_servers: [controlPlane.issuer],
      scopes_supported: ["expenses", "payments-approval"],
      bearer_methods_supported: ["header"],
      resource_name: "ledger",
    });
    expect((await read(`${wellKnown}/ledger`, {}, { method: "POST" })).status).toBe(405);
  });

  test.each(["plain", "nothing", "", "ledger/more", "LEDGER"])("of %j there are none", async (name) => {
    const { read } = await setup();
    expect((await read(`${wellKnown}/${name}`)).status).toBe(404);
  });

  test("can be read by a page of any origin, without cookies", async () => {
    const { read } = await setup();
    const page = { origin: "https://notebook.example", "sec-fetch-site": "cross-site" };
    for (const [name, status] of [
      ["ledger", 200],
      ["nothing", 404],
    ] as const) {
      const preflight = { ...page, "access-control-request-method": "GET", "access-control-request-headers": "x-any" };
      const allowed = await read(`${wellKnown}/${name}`, preflight, { method: "OPTIONS" });
      expect([allowed.status, allowed.headers.get("access-control-allow-headers")]).toEqual([200, "*"]);
      const response = await read(`${wellKnown}/${name}`, page);
      expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([status, "*"]);
      expect(response.headers.get("access-control-allow-credentials")).toBeNull();
    }
    expect((await read("/ledger/entries", page)).headers.get("access-control-allow-origin")).toBeNull();
  });

  test("are at the path of the identifier, and without the path of the public address", async () => {
    const { port } = await setup({}, { SVC_PEP_PUBLIC_URL: "https://pep.example/guard/" });
    for (const path of ["/ledger", "/guard/ledger"]) {
      const connection = await rawConnection(
        port,
        `GET ${wellKnown}${path} HTTP/1.1\r\nHost: pep.example\r\nConnection: close\r\n\r\n`,
      );
      expect(await connection.closed()).toContain('"resource":"https://pep.example/guard/ledger"');
    }
  });

  test("are 503 until the control plane has named the issuer, and stay when it is gone", async () => {
    const { read, controlPlane } = await setup();
    controlPlane.override = (_asked, response) => {
      response.destroy();
      return true;
    };
    const response = await read(`${wellKnown}/ledger`);
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    controlPlane.override = undefined;
    expect((await read(`${wellKnown}/ledger`)).status).toBe(200);
    await controlPlane.close();
    expect((await read(`${wellKnown}/ledger`)).status).toBe(200);
  });

  test("of a host that an upstream lists are the upstream's own", async () => {
    const { port, upstream } = await setup({ hosts: ["ledger.internal"] });
    const connection = await rawConnection(
      port,
      `GET ${wellKnown}/ledger HTTP/1.1\r\nHost: ledger.internal\r\nConnection: close\r\n\r\n`,
    );
    expect(await connection.closed()).toContain("HTTP/1.1 401");
    expect(upstream.received).toEqual([]);
  });
});

describe("a 401 of a protected resource", () => {
  test("has one challenge, with the metadata and every scope that a login needs", async () => {
    const { read, publicUrl } = await setup();
    const challenge = `resource_metadata="${publicUrl}${wellKnown}/ledger", scope="expenses payments-approval"`;
    expect(await challengesOf(read("/ledger/entries"))).toEqual([401, `Bearer ${challenge}`]);
    for (const authorization of [junk, "Bearer no", `Bearer svc_at_${"A".repeat(43)}`]) {
      expect(await challengesOf(read("/ledger/entries", { authorization }))).toEqual([
        401,
        `Bearer error="invalid_token", ${challenge}`,
      ]);
    }
  });

  test.each([
    ["2025-11-25", {}],
    ["2026-07-28", { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } }],
  ])("has it in MCP %s too", async (_revision, params) => {
    const { read, publicUrl } = await setup();
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params });
    const sent = read("/files", { "content-type": "application/json" }, { method: "POST", body });
    expect(await challengesOf(sent)).toEqual([
      401,
      `Bearer resource_metadata="${publicUrl}${wellKnown}/files", scope="expenses"`,
    ]);
  });

  test("has it under the host of the public address too", async () => {
    const { port } = await setup({}, { SVC_PEP_PUBLIC_URL: "https://pep.example" });
    const connection = await rawConnection(
      port,
      "GET /ledger/entries HTTP/1.1\r\nHost: pep.example\r\nConnection: close\r\n\r\n",
    );
    expect(await connection.closed()).toContain(`resource_metadata="https://pep.example${wellKnown}/ledger"`);
  });

  test("has it for a WebSocket", async () => {
    const { port, publicUrl } = await setup();
    const upgrade = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="];
    const head = ["GET /ledger/entries HTTP/1.1", `Host: 127.0.0.1:${port}`, ...upgrade, "Sec-WebSocket-Version: 13"];
    const connection = await rawConnection(port, [...head, "", ""].join("\r\n"));
    const answer = await connection.closed();
    expect(answer).toContain("HTTP/1.1 401");
    expect(answer.match(/^www-authenticate: .*$/gim)).toEqual([
      `www-authenticate: Bearer resource_metadata="${publicUrl}${wellKnown}/ledger", scope="expenses payments-approval"`,
    ]);
  });

  test("of another upstream names no resource", async () => {
    const { read } = await setup();
    expect(await challengesOf(read("/plain/entries"))).toEqual([401, "Bearer"]);
    expect(await challengesOf(read("/plain/entries", { authorization: junk }))).toEqual([401, "Bearer"]);
  });
});

test("a step-up names what the login had and what the call needs", async () => {
  const { read, controlPlane, session, publicUrl } = await setup();
  const denied = { denyReason: "SCOPE_NOT_CONSENTED", consentableScopes: ["travel", "expenses", "two words"] };
  controlPlane.policies.set("http:ledger/entries", denied);
  expect(await challengesOf(read("/ledger/entries", await session()))).toEqual([
    403,
    `Bearer error="insufficient_scope", resource_metadata="${publicUrl}${wellKnown}/ledger", scope="expenses payments-approval travel"`,
  ]);
});

describe("an upstream's oauth in the file", () => {
  const missing = "upstream ledger: oauth needs SVC_PEP_PUBLIC_URL and SVC_PEP_ENFORCEMENT_TOKEN, which are not set";
  const publicUrl = new URL("https://pep.example");
  const textOf = (scope: unknown) =>
    JSON.stringify({ upstreams: [{ name: "ledger", url: "http://127.0.0.1:1", routes, oauth: { scope } }] });
  const faultsOf = (scope: unknown, settings: object = { publicUrl }) => {
    const read = readUpstreams(textOf(scope), { defaultMode: "enforce", ...settings });
    return read.ok ? [] : read.faults;
  };

  test("is refused without the settings that it needs", () => {
    expect(faultsOf("expenses")).toEqual([]);
    expect(faultsOf(["expenses", "travel"])).toEqual([]);
    expect(faultsOf("expenses", {})).toEqual([missing]);
  });

  test.each([[""], ["two words"], ['a"b'], ["a\\b"], ["\u00e9"], [[]], [["a", "a"]], [7]])(
    "is refused with the scope %j, which no challenge can name",
    (scope) => expect(faultsOf(scope)).toHaveLength(1),
  );

  test("is named by --lint where the settings are not given, and changes nothing else", () => {
    const folder = mkdtempSync(join(tmpdir(), "pep-lint-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "pep.json");
    writeFileSync(file, textOf("expenses"));
    const lint = (url?: URL) => {
      const logged: string[] = [];
      return [
        runLint(
          file,
          () => {},
          (line) => logged.push(line),
          url,
        ),
        logged,
      ];
    };
    expect(lint()).toEqual([0, [`${file}: ${missing}`]]);
    expect(lint(publicUrl)).toEqual([0, []]);
  });
});
