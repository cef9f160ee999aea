import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, test } from "vitest";
import { applicationHeaders, hashOf, startedApplication } from "./support/application.ts";
import type { TargetPolicy } from "./support/control-plane-routes.ts";
import { startedMcpServer } from "./support/mcp-server.ts";
import { startedPep } from "./support/pep.ts";
import { rawConnection } from "./support/raw.ts";

const target = "http:app/any";
const dataClass = "docs";
/** Some of the application's calls; the others no route lists. */
const routes = [
  { methods: ["GET", "HEAD"], path: "/", target, data_class: dataClass },
  { methods: ["POST"], path: "/login", target, data_class: dataClass },
  { methods: ["POST"], path: "/upload", target, data_class: dataClass },
  { methods: ["GET", "POST"], path: "/api/items", target, data_class: dataClass },
  { methods: ["POST"], path: "/api/call", target, data_class: dataClass },
  { methods: ["GET"], path: "/live", target, data_class: dataClass },
];

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly isChunked?: boolean;
}

const form = { "content-type": "application/x-www-form-urlencoded" };
const multipart = { "content-type": 'multipart/form-data; boundary="b"' };
const part = `--b\r\nContent-Disposition: form-data; name="f"; filename="a.txt"\r\n\r\n${"x".repeat(300_000)}\r\n--b--\r\n`;
const json = { "content-type": "application/json" };

const script: readonly Sent[] = [
  { method: "GET", path: "/", headers: { accept: "text/html", "user-agent": "agent/1", "accept-language": "de" } },
  { method: "HEAD", path: "/" },
  { method: "POST", path: "/login", headers: form, body: "user=ada&password=%26+x" },
  { method: "GET", path: "/home", headers: { cookie: "user=ada; theme=dark" } },
  { method: "POST", path: "/upload", headers: multipart, body: part },
  { method: "POST", path: "/upload", headers: multipart, body: part, isChunked: true },
  {
    method: "PUT",
    path: "/files/a.bin",
    headers: { "content-type": "application/octet-stream" },
    body: part,
    isChunked: true,
  },
  { method: "POST", path: "/api/items", headers: json, body: "[1,2,3]" },
  { method: "POST", path: "/api/call", headers: json, body: '{"amount":1.0,"to":"ada"}' },
  { method: "POST", path: "/api/call", headers: { "content-type": "text/plain; charset=latin1" }, body: "caf\u00e9" },
  { method: "POST", path: "/api/call" },
  { method: "GET", path: "/api/items?q=a%20b&q=c" },
  { method: "PATCH", path: "/api/items/7", headers: { ...json, "if-match": '"3"' }, body: "{}" },
  { method: "DELETE", path: "/api/items/7" },
  { method: "GET", path: "/old" },
  { method: "GET", path: "/again" },
  {
    method: "OPTIONS",
    path: "/api/items",
    headers: { origin: "https://app.example", "access-control-request-method": "POST" },
  },
  { method: "GET", path: "/zipped", headers: { "accept-encoding": "gzip" } },
  { method: "GET", path: "/partial", headers: { range: "bytes=0-2" } },
  { method: "GET", path: "/cached", headers: { "if-none-match": '"one"' } },
  { method: "GET", path: "/events", headers: { accept: "text/event-stream", "last-event-id": "0" } },
  { method: "GET", path: "/secret" },
  { method: "GET", path: "/broken" },
  { method: "GET", path: "/missing/17" },
];

/** Sends the script to a port and returns what the agent saw. `host` is the application's, wherever it is sent. */
async function play(port: number, host: string, session: Record<string, string>) {
  const answers: unknown[] = [];
  for (const { method, path, headers, body, isChunked = false } of script) {
    const length = body === undefined || isChunked ? {} : { "content-length": Buffer.byteLength(body, "latin1") };
    const given = { host, connection: "close", ...session, ...headers, ...length };
    const request = httpRequest({ port, method, path, headers: given, agent: false });
    if (body === undefined) request.end();
    else request.end(Buffer.from(body, "latin1"));
    const [response]: [IncomingMessage] = (await once(request, "response")) as [IncomingMessage];
    const bytes = Buffer.concat(await response.toArray());
    answers.push({
      call: `${method} ${path}`,
      status: response.statusCode,
      headers: applicationHeaders(response.headers),
      body: hashOf(bytes),
    });
  }
  return [...answers, await playWebSocket(port, host, session)];
}

/** What the agent of a WebSocket receives: status, headers, frames. */
async function playWebSocket(port: number, host: string, session: Record<string, string>) {
  const lines = [
    ...["GET /live HTTP/1.1", `Host: ${host}`, "Connection: Upgrade", "Upgrade: websocket", "Cookie: user=ada"],
    ...["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="],
    ...Object.entries(session).map(([name, value]) => `${name}: ${value}`),
  ];
  const agent = await rawConnection(port, [...lines, "", ""].join("\r\n"));
  await agent.until(/\r\n\r\n/);
  agent.socket.write(Buffer.from("\x81\x82\0\0\0\0hi", "latin1"));
  const [head = "", frames] = (await agent.closed()).split("\r\n\r\n");
  const [status, ...headers] = head.toLowerCase().split("\r\n");
  return [status, headers.sort(), frames];
}

const policies: readonly (readonly [string, TargetPolicy])[] = [
  ["where its calls are allowed", {}],
  ["where they are allowed under taint", { taint: "untrusted_external" }],
  ["where they are denied", { denyReason: "TARGET_NOT_DECLARED" }],
  ["where they are privileged", { privileged: true }],
];

describe("an application behind an observing enforcement point and beside it is called and answers the same:", () => {
  test.each(policies)("%s", async (_name, policy) => {
    const application = await startedApplication();
    const host = `127.0.0.1:${application.port}`;
    const running = await startedPep({
      upstreams: [{ name: "app", url: `http://${host}`, hosts: [host], mode: "observe", routes }],
    });
    running.controlPlane.policies.set(target, policy);
    const session = await running.session();
    const beside = await play(application.port, host, session);
    const seenBeside = application.seen.splice(0);
    const behind = await play(running.port, host, session);
    expect(behind).toEqual(beside);
    expect(application.seen).toEqual(seenBeside);
    expect(await running.metrics()).not.toMatch(/^svc_pep_blocks_total\{.*\} [1-9]/m);
  });
});

async function playMcp(url: string, headers: Record<string, string>) {
  const client = new Client({ name: "agent", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  const told = async (work: Promise<unknown>) => work.catch((error: Error) => error.message);
  const transcript = [
    client.getServerVersion(),
    client.getServerCapabilities(),
    await client.listTools(),
    await told(client.callTool({ name: "read_file", arguments: { path: "a" } })),
    await told(client.callTool({ name: "write_file", arguments: { path: "x".repeat(300_000) } })),
    await told(client.callTool({ name: "no_such_tool", arguments: {} })),
    await told(client.callTool({ name: "read_file", arguments: { path: 7 } })),
    await told(client.listResources()),
    await told(client.listPrompts()),
    await told(client.ping()),
  ];
  await transport.terminateSession();
  await client.close();
  return transcript;
}

describe.each([
  ["event streams", false],
  ["JSON", true],
])(
  "an MCP server that answers with %s, behind an observing enforcement point and beside it, answers the same:",
  (_type, isJson) => {
    test.each(policies)("%s", async (_name, policy) => {
      const server = await startedMcpServer({ json: isJson });
      const tools = { data_class: dataClass, filter_tool_lists: true };
      const running = await startedPep({
        upstreams: [{ name: "files", url: server.url, protocol: "mcp", mode: "observe", ...tools }],
      });
      for (const name of ["mcp:files", "mcp:files/read_file", "mcp:files/write_file", "mcp:files/no_such_tool"]) {
        running.controlPlane.policies.set(name, policy);
      }
      const session = await running.session();
      const beside = await playMcp(server.url, session);
      const ran = server.ran.splice(0);
      expect(await playMcp(`${running.url}/files`, session)).toEqual(beside);
      expect(server.ran).toEqual(ran);
      expect(await running.metrics()).not.toMatch(/^svc_pep_blocks_total\{.*\} [1-9]/m);
    });
  },
);
