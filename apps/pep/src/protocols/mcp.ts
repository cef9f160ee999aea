import { dataClass } from "@svc/core";
import { z } from "zod";
import { isJsonBody } from "../message/media-type.ts";
import type { Answer } from "../message/write-answer.ts";
import { type Block, blockAnswer, blockDetails, blockMessage, httpBlockAnswer } from "./answers.ts";
import { commonSettings, connectRoute } from "./common-settings.ts";
import { isMirrored, readMessage } from "./mcp/message.ts";
import { createTargets } from "./mcp/targets.ts";
import { toolListFilter } from "./mcp/tool-lists.ts";
import type { AllowedTools, MessageId, ProtocolKind, ResponseFilter } from "./protocol.ts";

const entry = z.strictObject({
  ...commonSettings,
  protocol: z.literal("mcp"),
  data_class: dataClass.optional(),
  tools: z.record(z.string().min(1), dataClass).default({}),
  filter_tool_lists: z.boolean().default(false),
  routes: z.array(connectRoute).default([]),
});

/** One Streamable HTTP endpoint; the JSON-RPC message in the body names the call. */
export const mcp: ProtocolKind<typeof entry> = {
  entry,
  create({ url, filter_tool_lists: filtersToolLists, ...settings }) {
    // The endpoint is the URL exactly, a trailing slash included.
    const { pathname } = new URL(url);
    const [basePath, endpoint] = pathname === "/" ? ["", "/"] : [pathname, ""];
    const targets = createTargets(settings);
    return {
      basePath,
      takesUpgrades: false,
      ordersSessions: "mcp-session-id",
      targets: () => targets.named,
      resolve(method, path) {
        if (path !== endpoint) return "unmapped";
        if (method === "POST") return "message";
        return method === "GET" || method === "DELETE" ? targets.ofSession : "unmapped";
      },
      async readCall(body, headers, { bindCapBytes: capBytes, idleBodyMs: pauseMs }) {
        if (!isJsonBody(headers)) return {};
        const reading = await body.read({ capBytes, pauseMs });
        if (reading === "gone" || reading === "paused") return "gone";
        const message = reading === "whole" ? readMessage(body.bytes()) : undefined;
        if (!message) return {};
        const { id, method } = message;
        return { id, method, call: isMirrored(message, headers) ? targets.ofMessage(message) : undefined };
      },
      blockAnswer: jsonRpcBlockAnswer,
      filterFor({ method, id }, httpMethod, allowedTools) {
        if (!filtersToolLists) return undefined;
        const mayList = method === "tools/list" || httpMethod === "GET";
        const filterWith = (allowed: AllowedTools | undefined): ResponseFilter => {
          const context = { targets, id, mayList, allowed };
          return (status, headers) => toolListFilter(context, status, headers);
        };
        return mayList ? allowedTools().then(filterWith) : filterWith(undefined);
      },
    };
  },
};

const policyDenied = -32001;
const callFailed = -32603;

/**
 * A JSON-RPC error in a 200 for a request that waits under `id`: an HTTP error would end the MCP client's session. A
 * request without a valid bearer still gets its 401.
 */
function jsonRpcBlockAnswer(block: Block, id: MessageId | undefined): Answer {
  const { cause } = block;
  if (id === undefined || cause === "unauthorized") return httpBlockAnswer(block);
  const code = cause === "policy" ? policyDenied : callFailed;
  const data = { code: cause, ...blockDetails(block) };
  return blockAnswer(block, 200, { jsonrpc: "2.0", id, error: { code, message: blockMessage(block), data } });
}
