import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { StdioServer } from "../../src/stdio/settings.ts";
import { createStdioUpstreams } from "../../src/stdio/stdio-upstreams.ts";

const script = fileURLToPath(new URL("./stdio-server.js", import.meta.url));
export const scripted = (...args: string[]): readonly [string, ...string[]] => [process.execPath, script, ...args];

export const serverOf = (more: Partial<StdioServer> = {}): StdioServer => ({
  name: "files",
  command: scripted(),
  env: {},
  cwd: undefined,
  maxProcesses: 16,
  maxMemoryBytes: 1024 * 1024 * 1024,
  idleMs: 300_000,
  ...more,
});

export interface Answered {
  readonly status: number;
  readonly headers: readonly string[];
  readonly text: string;
  /** Of a JSON answer, or of the last event. */
  // biome-ignore lint/suspicious/noExplicitAny: each server answers with what it likes
  readonly message: any;
}

/** One request under way; `gone` disconnects its client. */
export interface Asked {
  readonly answered: Promise<Answered>;
  /** What arrived so far. */
  text(): string;
  gone(): void;
}

/** The processes of one upstream, without an enforcement point before them. */
export function openBridge(more: Partial<StdioServer> = {}) {
  const lines: string[] = [];
  let now = 0;
  const stdio = createStdioUpstreams(
    (line) => lines.push(line),
    () => performance.now() + now,
  );
  const server = serverOf(more);
  const connection = stdio.connect(server);
  onTestFinished(() => connection.destroy());

  const ask = (
    method: string,
    headers: Readonly<Record<string, string>>,
    body: string | Buffer | null = null,
  ): Asked => {
    const { promise: answered, resolve, reject } = Promise.withResolvers<Answered>();
    let status = 0;
    let received: string[] = [];
    let text = "";
    let abort = (_error: Error): void => {};
    connection.dispatch(
      {
        ...{ method, path: "/mcp", headers: Object.entries(headers).flat() },
        body: typeof body === "string" ? Buffer.from(body) : body,
      },
      {
        onRequestStart(controller) {
          abort = (error) => controller.abort(error);
        },
        onResponseStart(controller, statusCode) {
          status = statusCode;
          received = (controller.rawHeaders as string[]) ?? [];
        },
        onResponseData(_controller, chunk) {
          text += chunk.toString("utf8");
        },
        onResponseEnd: () => resolve({ status, headers: received, text, message: messageIn(text) }),
        onResponseError: (_controller, error) => reject(error),
      },
    );
    answered.catch(() => {});
    return { answered, text: () => text, gone: () => abort(new Error("gone")) };
  };
  const of = (session: string, mcpSessionId?: string) => ({
    "x-svc-session": session,
    ...(mcpSessionId !== undefined && { "mcp-session-id": mcpSessionId }),
  });

  return {
    ...{ stdio, server, connection, ask, of },
    log: () => lines.join("\n"),
    /** Moves the clock on. */
    pass(ms: number) {
      now += ms;
    },
    /** An MCP session of a client that initialized. */
    async initialize(session: string) {
      const answer = await ask("POST", of(session), initializing).answered;
      const at = answer.headers.indexOf("mcp-session-id");
      const id = at === -1 ? "" : (answer.headers[at + 1] ?? "");
      const ids = counter();
      return {
        ...{ answer, id },
        call: (name: string, args: object = {}) => ask("POST", of(session, id), callOf(ids(), name, args)),
        post: (body: string | Buffer) => ask("POST", of(session, id), body),
        listen: () => ask("GET", of(session, id)),
      };
    },
  };
}

function counter(): () => number {
  let last = 1;
  return () => {
    last += 1;
    return last;
  };
}

export const initializing = JSON.stringify({
  ...{ jsonrpc: "2.0", id: 0, method: "initialize" },
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } },
});

export const callOf = (id: number | string, name: string, args: object = {}, meta: object = {}): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args, _meta: meta } });

function messageIn(text: string): unknown {
  const last = text
    .split("\n")
    .findLast((line) => line.startsWith("data: "))
    ?.slice("data: ".length);
  try {
    return JSON.parse(last ?? text);
  } catch {
    return undefined;
  }
}

export const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
