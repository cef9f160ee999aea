import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { Discovered, DiscoverySource } from "@svc/core";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { createDiscover, type DiscoverySettings } from "../src/discovery/discover.ts";

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function serve(handler: RequestListener): Promise<{ url: string; port: number; server: Server }> {
  const server = createServer(handler).listen(0, "127.0.0.1");
  await once(server, "listening");
  undo.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, server };
}

const loopback = [{ kind: "network", network: "127.0.0.0", prefix: 8 }] as const;

async function discover(source: DiscoverySource, settings: Partial<DiscoverySettings> = {}): Promise<Discovered> {
  const [answer] = await createDiscover({ allowed: loopback, ...settings })([source]);
  if (answer === undefined) throw new Error("each source has an answer");
  expect(answer.source).toBe(source);
  return answer.discovered;
}

const http = (url: string): DiscoverySource => ({ kind: "http", url });
const remedyOf = (discovered: Discovered): string => (discovered.ok ? "none" : discovered.remedy);
const answerJson =
  (body: unknown): RequestListener =>
  (_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(body));
  };

describe("an http source", () => {
  test("advertises what it lists", async () => {
    const { url } = await serve(
      answerJson({
        tools: [
          { ref: "http:ledger/read", data_classes: ["finance"], privileged: false, access: "read", note: "theirs" },
          { ref: "http:ledger/post" },
        ],
        downstream_agents: ["auditor"],
      }),
    );
    expect(await discover(http(url))).toEqual({
      ok: true,
      tools: [
        { ref: "http:ledger/read", dataClasses: ["finance"], privileged: false, access: "read" },
        { ref: "http:ledger/post" },
      ],
      downstreamAgents: ["auditor"],
    });
  });

  test.each<[string, RequestListener, RegExp]>([
    ["answers 500", (_q, r) => r.writeHead(500).end(), /answered with an error/],
    ["answers 401", (_q, r) => r.writeHead(401).end(), /answered with an error/],
    ["answers HTML", (_q, r) => r.end("<html>"), /something else/],
    ["lists no tools", answerJson({}), /something else/],
    ["lists a ref that is none", answerJson({ tools: [{ ref: "a b" }] }), /something else/],
    ["lists text with NUL", answerJson({ tools: [{ ref: "a", data_classes: ["\u0000"] }] }), /something else/],
    ["redirects", (_q, r) => r.writeHead(302, { location: "http://127.0.0.1:1/" }).end(), /redirect/],
    ["answers too much", (_q, r) => r.end(" ".repeat(1_048_577)), /more than 1 MiB/],
    [
      "answers compressed",
      (_q, r) => r.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("{}")),
      /compressed/,
    ],
    [
      "breaks off",
      (_q, r) => r.writeHead(200, { "content-length": 10 }).write("x", () => r.destroy()),
      /could not be reached/,
    ],
  ])("that %s gave no answer, with a remedy", async (_name, handler, remedy) => {
    const { url, port } = await serve(handler);
    const discovered = await discover(http(`${url}/secret-path?key=s3cr3t`));
    expect(remedyOf(discovered)).toMatch(remedy);
    expect(remedyOf(discovered)).toMatch(new RegExp(`^127.0.0.1:${port} `));
    expect(remedyOf(discovered)).not.toContain("s3cr3t");
  });

  test("that never answers is given up in time", async () => {
    const { url } = await serve(() => {});
    expect(remedyOf(await discover(http(url), { timeoutMs: 100 }))).toMatch(/did not answer in time/);
  });

  test("that drips is given up in time", async () => {
    const { url } = await serve((_request, response) => {
      const drip = setInterval(() => response.write(" "), 10);
      response.on("close", () => clearInterval(drip));
    });
    expect(remedyOf(await discover(http(url), { timeoutMs: 200 }))).toMatch(/did not answer in time/);
  });

  test("that nobody serves could not be reached", async () => {
    const { url, server } = await serve(() => {});
    server.close();
    undo.splice(0);
    expect(remedyOf(await discover(http(url)))).toMatch(/could not be reached/);
  });
});

describe("the guard", () => {
  const unguarded: string[] = [];
  const listening = () =>
    serve((request, response) => {
      unguarded.push(request.url ?? "");
      answerJson({ tools: [] })(request, response);
    });

  test.each(["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "127.1"])(
    "never connects to %s unless admitted, and the remedy names the setting",
    async (host) => {
      const { port } = await listening();
      const discovered = await discover(http(`http://${host}:${port}/`), { allowed: [] });
      expect(remedyOf(discovered)).toContain("SVC_DISCOVERY_ALLOW");
      expect(unguarded).toEqual([]);
    },
  );

  test("refuses a metadata address before anything is sent", async () => {
    expect(remedyOf(await discover(http("http://169.254.169.254/latest")))).toContain("SVC_DISCOVERY_ALLOW");
  });

  test("connects to the address it checked: a name that answers otherwise the second time is asked once", async () => {
    const { port } = await listening();
    let asked = 0;
    const resolveHost = async () => {
      asked++;
      return [{ address: asked === 1 ? "127.0.0.1" : "169.254.169.254", family: 4 }];
    };
    expect(await discover(http(`http://rebinding.test:${port}/`), { resolveHost })).toMatchObject({ ok: true });
    expect(asked).toBe(1);
    expect(unguarded.splice(0)).toEqual(["/"]);
  });

  test("uses only the admitted ones of a name's addresses", async () => {
    const { port } = await listening();
    const resolveHost = async () => [
      { address: "10.255.255.1", family: 4 },
      { address: "127.0.0.1", family: 4 },
    ];
    expect(await discover(http(`http://both.test:${port}/`), { resolveHost })).toMatchObject({ ok: true });
    unguarded.splice(0);
  });

  test("admits a host by its name", async () => {
    const { port } = await listening();
    const allowed = [{ kind: "host", host: "ledger.internal" }] as const;
    const resolveHost = async () => [{ address: "127.0.0.1", family: 4 }];
    expect(await discover(http(`http://ledger.internal:${port}/`), { allowed, resolveHost })).toMatchObject({
      ok: true,
    });
    unguarded.splice(0);
  });

  test("lets no connection outlive the discovery", async () => {
    const sockets = new Set<Socket>();
    const { url, server } = await listening();
    server.on("connection", (socket) => sockets.add(socket));
    await discover(http(url));
    await Promise.all([...sockets].map((socket) => socket.closed || once(socket, "close")));
    expect(sockets.size).toBe(1);
    unguarded.splice(0);
  });
});

describe("an a2a source", () => {
  test("advertises the skills of its agent card", async () => {
    const asked: string[] = [];
    const { url } = await serve((request, response) => {
      asked.push(request.url ?? "");
      answerJson({ name: "calls itself so", skills: [{ id: "summarize" }, { id: "not a ref" }] })(request, response);
    });
    const discovered = await discover({ kind: "a2a", name: "writer", url: `${url}/agents/writer/` });
    expect(discovered).toEqual({ ok: true, tools: [{ ref: "a2a:writer/summarize" }] });
    expect(asked).toEqual(["/agents/writer/.well-known/agent-card.json"]);
  });
});

/** A real server: one session, answers as event streams or as plain JSON. */
async function serveMcp(server: McpServer, enableJsonResponse = false) {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => "session", enableJsonResponse });
  await server.connect(transport as Transport);
  const methods: string[] = [];
  const { url } = await serve((request, response) => {
    methods.push(request.method ?? "");
    void transport.handleRequest(request, response);
  });
  undo.push(() => server.close());
  return { url: `${url}/mcp`, methods };
}

const mcp = (url: string): DiscoverySource => ({ kind: "mcp", name: "ledger", url });

describe("an mcp source", () => {
  const ledger = () => {
    const server = new McpServer({ name: "calls itself so", version: "1" });
    const answer = async () => ({ content: [] });
    server.registerTool("read", { annotations: { readOnlyHint: true } }, answer);
    server.registerTool(
      "post_entry",
      { annotations: { destructiveHint: true }, inputSchema: { n: z.number() } },
      answer,
    );
    server.registerTool("plain", {}, answer);
    return server;
  };

  test.each([true, false])("advertises its tools with their hints (JSON answers: %j)", async (enableJsonResponse) => {
    const { url, methods } = await serveMcp(ledger(), enableJsonResponse);
    expect(await discover(mcp(url))).toEqual({
      ok: true,
      tools: [
        { ref: "mcp:ledger/read", access: "read" },
        { ref: "mcp:ledger/post_entry", privileged: true },
        { ref: "mcp:ledger/plain" },
      ],
    });
    expect(methods).not.toContain("GET");
    expect(methods.at(-1)).toBe("DELETE");
  });

  test("advertises the methods of its other capabilities", async () => {
    const server = ledger();
    server.registerResource("entries", "ledger://entries", {}, async () => ({ contents: [] }));
    server.registerPrompt("audit", {}, async () => ({ messages: [] }));
    const { url } = await serveMcp(server);
    const discovered = await discover(mcp(url));
    const refs = discovered.ok ? discovered.tools.map(({ ref }) => ref) : [];
    expect(refs).toEqual(
      expect.arrayContaining(["mcp:ledger#resources/list", "mcp:ledger#resources/read", "mcp:ledger#prompts/get"]),
    );
    expect(refs).not.toContain("mcp:ledger#resources/subscribe");
    expect(refs).not.toContain("mcp:ledger#logging/setLevel");
  });

  const paged = (pages: number) => {
    const server = ledger();
    server.server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
      const page = Number(params?.cursor ?? 0);
      const tools = [{ name: `tool-${page}`, inputSchema: { type: "object" as const } }];
      return page + 1 < pages ? { tools, nextCursor: String(page + 1) } : { tools };
    });
    return server;
  };

  test("is read to its tenth page", async () => {
    const { url } = await serveMcp(paged(10));
    const discovered = await discover(mcp(url));
    expect(discovered.ok && discovered.tools.map(({ ref }) => ref)).toEqual(
      Array.from({ length: 10 }, (_, page) => `mcp:ledger/tool-${page}`),
    );
  });

  test("with more pages gave no answer", async () => {
    const { url } = await serveMcp(paged(11));
    expect(remedyOf(await discover(mcp(url)))).toMatch(/more than 10 pages/);
  });

  test("that answers too much gave no answer", async () => {
    const server = ledger();
    server.registerTool("x".repeat(60), { description: "d".repeat(1_048_577) }, async () => ({ content: [] }));
    const { url } = await serveMcp(server);
    expect(remedyOf(await discover(mcp(url)))).toMatch(/more than 1 MiB/);
  });

  test.each<[string, RequestListener, RegExp]>([
    ["redirects", (_q, r) => r.writeHead(307, { location: "http://127.0.0.1:1/" }).end(), /redirect/],
    ["wants credentials", (_q, r) => r.writeHead(401).end(), /answered with an error/],
    ["is no MCP server", answerJson({ hello: "world" }), /something else/],
    ["never answers", () => {}, /in time/],
  ])("that %s gave no answer, with a remedy", async (_name, handler, remedy) => {
    const { url } = await serve(handler);
    expect(remedyOf(await discover(mcp(url), { timeoutMs: 500 }))).toMatch(remedy);
  });

  test("at an internal address is never connected to", async () => {
    const { url, methods } = await serveMcp(ledger());
    expect(remedyOf(await discover(mcp(url), { allowed: [] }))).toContain("SVC_DISCOVERY_ALLOW");
    expect(methods).toEqual([]);
  });
});

test("sources are asked together, and one that fails leaves the others' answers", async () => {
  const { url } = await serve(answerJson({ tools: [{ ref: "http:a" }] }));
  const answers = await createDiscover({ allowed: loopback, timeoutMs: 1_000 })([
    http(url),
    http("http://169.254.169.254/"),
  ]);
  expect(answers.map(({ discovered }) => discovered.ok)).toEqual([true, false]);
});

test("a manifest without sources gets no answers", async () => {
  expect(await createDiscover({ allowed: [] })([])).toEqual([]);
});
