import { isSessionMessage, protocolDataClass } from "@svc/core";
import type { AuthorizeRequest } from "./authorize-hop.ts";
import { type Params, withGrantHeaders } from "./authorized-request.ts";
import type { AuthzClient } from "./client.ts";
import { type DataClass, dataClassOf } from "./data-class.ts";
import type { Grant, HopContext } from "./hop-context.ts";

/** The part of the MCP SDK's `Transport` that is used here, so that every version fits. */
export interface McpTransport<Message = unknown, Options = unknown> {
  start(): Promise<void>;
  send(message: Message, options?: Options): Promise<void>;
  close(): Promise<void>;
}

/** `fetch` as the SDK's HTTP transports expect it. */
export type McpFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** The MCP server to call, the context to call it with, and the data classes of its tools. */
export interface AuthorizedMcp {
  readonly client: Pick<AuthzClient, "authorize">;
  readonly context: HopContext;
  /** The server's name in target references: `mcp:<server>/<tool>`. */
  readonly server: string;
  /** Data class of every tool that `tools` does not name. */
  readonly dataClass?: DataClass | undefined;
  /**
   * Data class by tool, and by `#method` for methods that are tools of their own. A function gives it by the tool's
   * arguments, none being an empty object, or by the method's params.
   */
  readonly tools?: Readonly<Record<string, DataClass>> | undefined;
  /** Default: the runtime's own. */
  readonly fetch?: McpFetch | undefined;
}

/**
 * An MCP client transport that takes a hop before it sends a message: for `tools/call` to the tool, for the session's
 * own messages to the server, for any other method to a target of its own (docs/reference/manifest.md#mcp-servers). A
 * privileged call is bound to the whole message, as in the enforcement point.
 *
 * ```ts
 * const transport = authorizedMcpTransport(
 *   { client: svc, context, server: "files", dataClass: "docs" },
 *   (fetch) => new StreamableHTTPClientTransport(url, { fetch }),
 * );
 * await mcp.connect(transport);
 * ```
 *
 * A transport without HTTP ignores `fetch`: its hops are decided and recorded, but the grants are not sent.
 * @throws from `send` as `AuthzClient.authorize`; nothing was sent then, and the MCP session continues
 */
export function authorizedMcpTransport<Transport extends McpTransport<never, never>>(
  options: AuthorizedMcp,
  connect: (fetch: McpFetch) => Transport,
): Transport {
  const hop = (message: unknown, signal?: AbortSignal | null): Promise<Grant> =>
    options.client.authorize(options.context, hopOf(options, message), { signal: signal ?? undefined });

  /** By message text. Every other request (a stream, the session's end, a repeat) takes a hop of its own. */
  const granted = new Map<string, Grant>();
  const inner = connect(async (url, init = {}) => {
    const { body, signal } = init;
    const known = typeof body === "string" ? granted.get(body) : undefined;
    if (typeof body === "string") granted.delete(body);
    const grant = known ?? (await hop(typeof body === "string" ? JSON.parse(body) : undefined, signal));
    const headers = withGrantHeaders(init.headers, grant);
    // No credential follows a redirect.
    return (options.fetch ?? globalThis.fetch)(url, { ...init, headers, redirect: "manual" });
  });

  const send = inner.send.bind(inner);
  inner.send = async (message, sendOptions) => {
    const text = JSON.stringify(message);
    granted.set(text, await hop(message));
    try {
      await send(message, sendOptions);
    } finally {
      granted.delete(text);
    }
  };
  return inner;
}

type ToolHopRequest = Omit<AuthorizeRequest, "taint">;

/** @throws {TypeError} for a call whose data class is not configured */
function hopOf({ server, dataClass, tools = {} }: AuthorizedMcp, message: unknown): ToolHopRequest {
  const { id, method, params } = (message ?? {}) as {
    id?: unknown;
    method?: unknown;
    params?: { name?: unknown; arguments?: unknown };
  };
  const ofServer: ToolHopRequest = { target: `mcp:${server}`, targetKind: "tool", dataClass: protocolDataClass };
  if (typeof method !== "string" || isSessionMessage({ id, method })) return ofServer;
  const isTool = method === "tools/call";
  const name = isTool ? String(params?.name) : `#${method}`;
  const target = isTool ? `mcp:${server}/${name}` : `mcp:${server}${name}`;
  const declared = Object.hasOwn(tools, name) ? tools[name] : isTool ? dataClass : undefined;
  if (declared === undefined) throw new TypeError(`no data class is configured for ${target}`);
  const args = JSON.stringify((isTool ? params?.arguments : params) ?? {});
  return { target, targetKind: "tool", dataClass: dataClassOf(declared, args), params: message as Params };
}
