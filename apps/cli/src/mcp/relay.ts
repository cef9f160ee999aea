import type { ClientRequest, IncomingMessage } from "node:http";
import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { mcpMeta } from "@svc/core";
import { messagesOf } from "./answers.ts";
import { byteLines } from "./byte-lines.ts";
import { httpSession } from "./http-session.ts";

export interface RelayOptions {
  /** Of the upstream at the enforcement point. */
  readonly url: string;
  readonly input: Readable;
  readonly output: Writable;
  /** Ends the relay. */
  readonly signal: AbortSignal;
}

/** `lost`: the server or the session is over, as if a server over stdio had ended. */
export type RelayEnd = "input ended" | "stopped" | "lost";

interface Message {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: { readonly requestId?: unknown; readonly _meta?: Readonly<Record<string, unknown>> };
  readonly result?: { readonly protocolVersion?: string };
  readonly error?: { readonly message?: unknown };
}

const [parseError, internalError] = [-32700, -32603];
/** For the answers to calls under way, once the server is lost. */
const lastAnswersMs = 1_000;

/**
 * Speaks MCP over stdio with a client, and Streamable HTTP with the enforcement point. Messages pass unchanged and in the
 * client's order: what has no answer is handed over before the message after it.
 */
export async function relayStdio({ url, input, output, signal }: RelayOptions): Promise<RelayEnd> {
  const http = httpSession(url, signal);
  const underWay = new Map<string, ClientRequest>();
  const calls = new Set<Promise<void>>();
  const { promise: over, resolve: finish } = Promise.withResolvers<RelayEnd>();
  const write = (line: string) => void (output.writable && output.write(`${line}\n`));
  const refuse = (id: Message["id"], code: number, message: string) =>
    write(JSON.stringify({ jsonrpc: "2.0", id: id ?? null, error: { code, message } }));

  const call = async (message: Message, line: Buffer) => {
    const key = JSON.stringify(message.id);
    const { request, response: responding } = http.post(line, message.params?._meta?.[mcpMeta.revision]);
    underWay.set(key, request);
    try {
      const response = await responding;
      let fault = `the enforcement point answered ${response.statusCode}`;
      for await (const text of messagesOf(response)) {
        const received = parsed(text);
        const isAnswer = received?.method === undefined && received?.id === message.id;
        if (isAnswer) underWay.delete(key);
        if (isAnswer && received?.result && message.method === "initialize") {
          http.begin(response, received.result.protocolVersion);
        }
        if (isAnswer || received?.method !== undefined) write(text);
        else if (typeof received?.error?.message === "string") fault = received.error.message;
      }
      // A call that its client cancelled has no answer.
      if (underWay.has(key)) refuse(message.id, internalError, fault);
      if (response.statusCode === 404 && http.isOpen) finish("lost");
    } catch (cause) {
      if (underWay.has(key)) refuse(message.id, internalError, String(cause));
    } finally {
      underWay.delete(key);
    }
  };

  const listen = async () => {
    const stream = await http.listen();
    if (stream.statusCode !== 200) return void stream.resume();
    void passOn(stream).finally(() => finish("lost"));
  };
  const passOn = async (stream: IncomingMessage) => {
    try {
      for await (const message of messagesOf(stream)) write(message);
    } catch {
      // The stream was cut.
    }
  };

  const handOver = async (line: Buffer) => {
    const message = parsed(line.toString("utf8"));
    if (!message) return refuse(null, parseError, "a line that is no JSON object");
    if (message.method !== undefined && message.id !== undefined) {
      const calling = call(message, line);
      calls.add(calling);
      return void calling.finally(() => calls.delete(calling));
    }
    const cancelled = message.method === "notifications/cancelled" ? JSON.stringify(message.params?.requestId) : "";
    const request = underWay.get(cancelled);
    underWay.delete(cancelled);
    // MCP 2026-07-28, Streamable HTTP: a client cancels by closing the connection, and sends no notification.
    if (!http.isOpen) return void request?.destroy();
    (await http.post(line, undefined).response).resume();
    if (message.method === "notifications/initialized") await listen();
  };
  const read = async () => {
    try {
      for await (const line of byteLines(input)) if (line.length > 0) await handOver(line);
      finish("input ended");
    } catch {
      finish("lost");
    }
  };

  signal.addEventListener("abort", () => finish("stopped"), { once: true });
  if (signal.aborted) finish("stopped");
  void read();
  const end = await over;
  if (end === "lost") await Promise.race([Promise.all(calls), delay(lastAnswersMs, undefined, { ref: false })]);
  http.close();
  return end;
}

function parsed(text: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
