import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createMcpHandler, inputRequired, inputResponse, McpServer } from "@modelcontextprotocol/server";
import { toJwks, verificationKeyOf } from "@svc/tokens";
import { createVerifier, mcpFetchAdmission } from "@svc/verifier";
import { expect, onTestFinished, test } from "vitest";
import { issuer, issuerKey } from "../../hop/test/support/tokens.ts";
import { authorizedMcpTransport, type McpFetch } from "../src/index.ts";
import { errorOf, fakeSession } from "./support/fake-client.ts";

const question = { message: "Sure?", requestedSchema: { type: "object" as const, properties: {} } };
const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });

function newServer(): McpServer {
  const server = new McpServer({ name: "anything", version: "1" });
  server.registerTool("read_file", {}, () => text("read"));
  server.registerTool("write_file", {}, ({ mcpReq }) => {
    const view = inputResponse(mcpReq.inputResponses, "sure");
    if (view.kind === "missing") return inputRequired({ inputRequests: { sure: inputRequired.elicit(question) } });
    return text("written");
  });
  return server;
}

/** A client and a server of MCP 2026-07-28; the server admits only calls which the verifier admits. */
async function connected() {
  const { svc, plane, session } = await fakeSession();
  plane.targets.set("mcp:files/write_file", { privileged: true });
  const declared = { server: "files", dataClass: "docs" };
  const jwks = toJwks([await verificationKeyOf(issuerKey)]);
  const verifier = createVerifier({ issuer, audience: "mcp:files", jwks, identityView: "off" });
  const handler = createMcpHandler(newServer, { legacy: "reject" });
  const guarded = mcpFetchAdmission({ verifier, ...declared }, (request) => handler.fetch(request));
  const bodies: string[] = [];
  const fetch: McpFetch = (url, init) => {
    bodies.push(String(init?.body ?? ""));
    return guarded(new Request(url, init));
  };
  const mcp = new Client(
    { name: "agent", version: "1" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  mcp.setRequestHandler("elicitation/create", () => ({ action: "accept", content: {} }));
  onTestFinished(() => mcp.close());
  await mcp.connect(
    authorizedMcpTransport(
      { client: svc, context: session.context(), fetch, ...declared },
      (authorized) => new StreamableHTTPClientTransport(new URL("https://files.test/mcp"), { fetch: authorized }),
    ),
  );
  return { mcp, plane, bodies };
}

test("a client of MCP 2026-07-28 calls a server that verifies each request", async () => {
  const { mcp } = await connected();
  expect(mcp.getNegotiatedProtocolVersion()).toBe("2026-07-28");
  expect((await mcp.listTools()).tools.map(({ name }) => name)).toEqual(["read_file", "write_file"]);
  expect(await mcp.callTool({ name: "read_file" })).toMatchObject(text("read"));
});

test("a call that is repeated with the person's answer is decided and bound again", async () => {
  const { mcp, plane, bodies } = await connected();
  expect(await mcp.callTool({ name: "write_file" })).toMatchObject(text("written"));
  const calls = bodies.filter((body) => body.includes("tools/call"));
  expect(calls.map((body) => body.includes("inputResponses"))).toEqual([false, true]);
  expect(plane.asked.filter((path) => path === "/v1/token/transaction")).toHaveLength(2);
});

test("a denied call is thrown, and nothing is sent", async () => {
  const { mcp, plane, bodies } = await connected();
  plane.targets.set("mcp:files/read_file", { deny: "TARGET_NOT_DECLARED" });
  expect(await errorOf(mcp.callTool({ name: "read_file" }))).toMatchObject({ name: "PolicyDenied" });
  expect(bodies.filter((body) => body.includes("tools/call"))).toEqual([]);
});
