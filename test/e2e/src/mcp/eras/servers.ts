import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type NodeIncomingMessageLike, toNodeHandler } from "@modelcontextprotocol/node";
import { McpServer as FirstServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import {
  createMcpHandler,
  fromJsonSchema,
  inputRequired,
  inputResponse,
  McpServer,
} from "@modelcontextprotocol/server";
import { z } from "zod";

/** Over Streamable HTTP, or over standard input and output. */
export type Reached = { readonly url: string } | { readonly command: readonly [string, ...string[]] };

export interface EraServer {
  readonly at: Reached;
  readonly hasSessions: boolean;
  /** Calls of `wait` that began, so far. */
  waits(): number;
  /** Notifies every client that listens: the list of tools changed. */
  announce(): void;
  /** Lets `count` answer, where it waits for its progress to be seen. */
  progressSeen(): void;
  stop(): Promise<void>;
}

/** What the servers of both SDKs offer: one line for each part of the protocol. */
export const offered = {
  tools: ["ask", "count", "echo", "guarded", "routed", "sample", "wait"],
  methods: ["completion/complete", "prompts/get", "prompts/list", "resources/list", "resources/read"],
} as const;

const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });
const question = {
  mode: "form" as const,
  message: "Who are you?",
  requestedSchema: { type: "object" as const, properties: { name: { type: "string" as const } }, required: ["name"] },
};
const prompt = {
  messages: [{ role: "user" as const, content: { type: "text" as const, text: "a question" } }],
  maxTokens: 9,
};
const resource = { uri: "test://static", mimeType: "text/plain", text: "the text" };
const greeting = { messages: [{ role: "user" as const, content: { type: "text" as const, text: "Grüße" } }] };

/** What the tools wait for. */
export interface Waiting {
  untilAborted(signal: AbortSignal): Promise<never>;
  untilProgressSeen(): Promise<void>;
}

/** Of a server over HTTP, where progress arrives before the answer or not at all. */
function createWaiting() {
  let waits = 0;
  const waiting: Waiting = {
    untilAborted(signal) {
      waits += 1;
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
    },
    untilProgressSeen: async () => {},
  };
  return { waits: () => waits, progressSeen: () => {}, waiting };
}

/** Of SDK 1.x: it opens sessions, and sends the client requests. */
export function firstServer(waiting: Waiting): FirstServer {
  const server = new FirstServer({ name: "first", version: "1" });
  server.registerTool("echo", { inputSchema: { said: z.string() } }, ({ said }) => text(said));
  server.registerTool("routed", { inputSchema: { region: z.string() } }, ({ region }) => text(region));
  server.registerTool("guarded", {}, () => text("reached"));
  server.registerTool("ask", {}, async () => text(JSON.stringify(await server.server.elicitInput(question))));
  server.registerTool("sample", {}, async () =>
    text(JSON.stringify((await server.server.createMessage(prompt)).content)),
  );
  server.registerTool("count", {}, async ({ _meta, sendNotification }) => {
    const progressToken = _meta?.progressToken ?? 0;
    for (const progress of [1, 2, 3]) {
      await sendNotification({ method: "notifications/progress", params: { progressToken, progress, total: 3 } });
    }
    await waiting.untilProgressSeen();
    return text("counted");
  });
  server.registerTool("wait", {}, ({ signal }) => waiting.untilAborted(signal));
  server.registerResource("static", resource.uri, {}, () => ({ contents: [resource] }));
  server.registerPrompt("greeting", {}, () => greeting);
  return server;
}

/** Its clients repeat the argument in `Mcp-Param-Region`. */
const routed = fromJsonSchema<{ region: string }>({
  type: "object",
  properties: { region: { type: "string", ...{ "x-mcp-header": "Region" } } },
  required: ["region"],
});

/** Of SDK 2.x: each request stands alone, and what the server wants of the client is in its answer. */
export function secondServer(waiting: Waiting): McpServer {
  const server = new McpServer({ name: "second", version: "1" });
  server.registerTool("echo", { inputSchema: z.object({ said: z.string() }) }, ({ said }) => text(said));
  server.registerTool("routed", { inputSchema: routed }, ({ region }) => text(region));
  server.registerTool("guarded", {}, () => text("reached"));
  server.registerTool("ask", {}, ({ mcpReq }) => {
    const view = inputResponse(mcpReq.inputResponses, "who");
    if (view.kind === "missing") {
      return inputRequired({ inputRequests: { who: inputRequired.elicit(question) }, requestState: "asked" });
    }
    return text(JSON.stringify(view));
  });
  server.registerTool("sample", {}, ({ mcpReq }) => {
    const view = inputResponse(mcpReq.inputResponses, "model");
    if (view.kind !== "sampling") {
      return inputRequired({ inputRequests: { model: inputRequired.createMessage(prompt) } });
    }
    return text(JSON.stringify(view.result.content));
  });
  server.registerTool("count", {}, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken ?? 0;
    for (const progress of [1, 2, 3]) {
      await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 3 } });
    }
    await waiting.untilProgressSeen();
    return text("counted");
  });
  server.registerTool("wait", {}, ({ mcpReq }) => waiting.untilAborted(mcpReq.signal));
  server.registerResource("static", resource.uri, {}, () => ({ contents: [resource] }));
  server.registerPrompt("greeting", {}, () => greeting);
  return server;
}

type Rest = Omit<EraServer, "at" | "stop">;

async function listening(handle: RequestListener, rest: Rest): Promise<EraServer> {
  const http = createServer(handle);
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return {
    at: { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp` },
    ...rest,
    stop: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}

/** @param json answers in JSON where one message is the answer, and in event streams otherwise */
export function startFirst({ json = false } = {}): Promise<EraServer> {
  const { waiting, ...observed } = createWaiting();
  const sessions = new Map<string, { server: FirstServer; transport: StreamableHTTPServerTransport }>();
  const open = async () => {
    const server = firstServer(waiting);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: json,
      onsessioninitialized: (id) => void sessions.set(id, { server, transport }),
    });
    await server.connect(transport as Parameters<FirstServer["connect"]>[0]);
    return transport;
  };
  return listening(
    async (request, response) => {
      const known = sessions.get(String(request.headers["mcp-session-id"]));
      await (known?.transport ?? (await open())).handleRequest(request, response);
    },
    {
      hasSessions: true,
      ...observed,
      announce() {
        for (const { server } of sessions.values()) server.sendToolListChanged();
      },
    },
  );
}

/** @param legacy `reject`: it speaks 2026-07-28 alone */
export function startSecond(legacy: "stateless" | "reject"): Promise<EraServer> {
  const { waiting, ...observed } = createWaiting();
  const handler = createMcpHandler(() => secondServer(waiting), { legacy });
  const handle = toNodeHandler(handler);
  return listening((request, response) => void handle(request as NodeIncomingMessageLike, response), {
    hasSessions: false,
    ...observed,
    announce: () => handler.notify.toolsChanged(),
  });
}

/** A program for each client. It says by files what a server in this process would say by calls. */
export function startOverStdio(sdk: "first" | "second"): EraServer {
  const folder = mkdtempSync(join(tmpdir(), "svc-eras-"));
  const [waits, announced, seen] = [join(folder, "waits"), join(folder, "announced"), join(folder, "seen")];
  for (const file of [waits, announced, seen]) writeFileSync(file, "");
  const program = fileURLToPath(new URL("./stdio-server.ts", import.meta.url));
  return {
    at: { command: [process.execPath, "--conditions=@svc/source", program, sdk, waits, announced, seen] },
    hasSessions: true,
    waits: () => readFileSync(waits).length,
    announce: () => writeFileSync(announced, ".", { flag: "a" }),
    progressSeen: () => writeFileSync(seen, ".", { flag: "a" }),
    stop: async () => rmSync(folder, { recursive: true }),
  };
}
