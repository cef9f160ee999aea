import { Client as SecondClient, StreamableHTTPClientTransport as SecondTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport as SecondStdio } from "@modelcontextprotocol/client/stdio";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as FirstStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LATEST_PROTOCOL_VERSION,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { Reached } from "./servers.ts";

interface CallOptions {
  readonly onprogress?: (progress: { progress: number }) => void;
  readonly signal?: AbortSignal;
}

/** What the clients of both SDKs have in common. */
export interface EraClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<unknown>;
  listResources(): Promise<unknown>;
  readResource(params: { uri: string }): Promise<unknown>;
  listPrompts(): Promise<unknown>;
  getPrompt(params: { name: string }): Promise<unknown>;
  /** The revision that client and server agreed on. */
  revision(): string | undefined;
  /** Opens what the client's revision has for changes; resolves when it is open. */
  listen(): Promise<void>;
  /** Changes that the server announced, so far. */
  changes(): number;
  close(): Promise<void>;
}

export type Connect = (at: Reached, headers: Record<string, string>) => Promise<EraClient>;

const capabilities = { sampling: {}, elicitation: { form: {} } };
const accepted = { action: "accept", content: { name: "Ada" } } as const;
const sampled = { role: "assistant", model: "none", content: { type: "text", text: "an answer" } } as const;

/** Calls back when the stream is open on which a session's notifications come. */
const noting =
  (onOpen: () => void) =>
  async (input: string | URL, init?: RequestInit): Promise<Response> => {
    const response = await fetch(input, init);
    if (init?.method === "GET") onOpen();
    return response;
  };

const programOf = ({ command: [command, ...args] }: Extract<Reached, { readonly command: unknown }>) => ({
  command,
  args,
});

export const connectFirst: Connect = async (at, headers) => {
  const client = new FirstClient({ name: "agent", version: "1" }, { capabilities });
  const opened = Promise.withResolvers<void>();
  let changes = 0;
  client.setRequestHandler(ElicitRequestSchema, () => accepted);
  client.setRequestHandler(CreateMessageRequestSchema, () => sampled);
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    changes += 1;
  });
  const transport =
    "url" in at
      ? new FirstTransport(new URL(at.url), { requestInit: { headers }, fetch: noting(opened.resolve) })
      : new FirstStdio(programOf(at));
  if ("command" in at) opened.resolve();
  await client.connect(transport as Parameters<FirstClient["connect"]>[0]);
  return {
    listTools: () => client.listTools(),
    callTool: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
    listResources: () => client.listResources(),
    readResource: (params) => client.readResource(params),
    listPrompts: () => client.listPrompts(),
    getPrompt: (params) => client.getPrompt(params),
    // Over standard input and output the client does not say which it agreed on: it has one.
    revision: () => ("protocolVersion" in transport ? transport.protocolVersion : LATEST_PROTOCOL_VERSION),
    listen: () => opened.promise,
    changes: () => changes,
    close: () => client.close(),
  };
};

export const connectSecond =
  (mode: "auto" | "legacy" | { pin: string }): Connect =>
  async (at, headers) => {
    const client = new SecondClient({ name: "agent", version: "1" }, { capabilities, versionNegotiation: { mode } });
    const opened = Promise.withResolvers<void>();
    let changes = 0;
    client.setRequestHandler("elicitation/create", () => accepted);
    client.setRequestHandler("sampling/createMessage", () => sampled);
    client.setNotificationHandler("notifications/tools/list_changed", () => {
      changes += 1;
    });
    const transport =
      "url" in at
        ? new SecondTransport(new URL(at.url), { requestInit: { headers }, fetch: noting(opened.resolve) })
        : new SecondStdio(programOf(at));
    if ("command" in at) opened.resolve();
    await client.connect(transport);
    const isModern = client.getProtocolEra() === "modern";
    return {
      listTools: () => client.listTools(undefined, { cacheMode: "bypass" }),
      callTool: (name, args, options) => client.callTool({ name, arguments: args }, options),
      listResources: () => client.listResources(),
      readResource: (params) => client.readResource(params),
      listPrompts: () => client.listPrompts(),
      getPrompt: (params) => client.getPrompt(params),
      revision: () => client.getNegotiatedProtocolVersion(),
      listen: async () => {
        if (isModern) await client.listen({ toolsListChanged: true });
        else await opened.promise;
      },
      changes: () => changes,
      close: () => client.close(),
    };
  };
