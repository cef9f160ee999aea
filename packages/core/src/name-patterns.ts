/** Names without any schema: the verifier checks them in bundles that hold no schema library. */

export const agentPattern = /^[a-z0-9](?:[a-z0-9._-]{0,126}[a-z0-9])?$/;
export const refPattern = /^[A-Za-z0-9._:/@#-]{1,255}$/;

export const isAgentName = (text: string): boolean => agentPattern.test(text);
export const isToolRef = (text: string): boolean => refPattern.test(text);

/** The one implicit, unprivileged tool an agent has on each MCP server it declares a tool of. */
export const protocolDataClass = "protocol";

const mcpRef = /^mcp:([^/#]+)(?:[/#].+)?$/;

/** `mcp:ledger` for `mcp:ledger/post_entry`, `mcp:ledger#resources/read` and itself; undefined for other refs. */
export function mcpServerRef(ref: string): string | undefined {
  const server = mcpRef.exec(ref)?.[1];
  return server === undefined ? undefined : `mcp:${server}`;
}

export const isMcpServerRef = (ref: string): boolean => ref === mcpServerRef(ref);
