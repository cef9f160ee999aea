import { writeFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { waitUntil } from "@svc/test-support";
import { throughEnv } from "./conformance-suite.ts";

/**
 * The official client as the official suite starts it: `conformance-client.ts URL`. It lists the tools and calls each.
 * Where the environment names an enforcement point, the suite's server first becomes an upstream of it.
 */

const [, , server = ""] = process.argv;
const scenario = String(process.env.MCP_CONFORMANCE_SCENARIO).replaceAll("_", "-");

/** Each scenario's server has its own port, so the upstreams file is rewritten and reloaded while serving. */
async function through(url: string, configFile: string): Promise<string> {
  const upstream = { name: scenario, url: server, protocol: "mcp", data_class: "docs" };
  writeFileSync(configFile, JSON.stringify({ upstreams: [upstream] }));
  const endpoint = `${url}/${scenario}`;
  // An in-band probe until the upstream is known; never forwarded to it.
  const nothing = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "nobody/knows" });
  const headers = { "content-type": "application/json" };
  const isTaken = async () => (await fetch(endpoint, { method: "POST", headers, body: nothing })).status === 200;
  await waitUntil("the upstream to be reloaded", isTaken);
  return endpoint;
}

const { [throughEnv.url]: url, [throughEnv.configFile]: configFile } = process.env;
const endpoint = url && configFile ? await through(url, configFile) : server;
const client = new Client(
  { name: "conformance-client", version: "1" },
  { capabilities: { elicitation: { form: { applyDefaults: true } } } },
);
client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: {} }));
// The listening stream opens before any call: the suite counts the first stream after a cut one as its resumption.
const listening = Promise.withResolvers<void>();
const transport = new StreamableHTTPClientTransport(new URL(endpoint), {
  async fetch(input, init) {
    const response = await fetch(input, init);
    if (init?.method === "GET") listening.resolve();
    return response;
  },
});
await client.connect(transport as Parameters<Client["connect"]>[0]);
await listening.promise;
const { tools } = await client.listTools();
for (const { name } of tools) await client.callTool({ name, arguments: { a: 5, b: 3 } });
await client.close();
