import { dataClass } from "@svc/core";
import { z } from "zod";
import { isJsonBody } from "../message/media-type.ts";
import type { Answer } from "../message/write-answer.ts";
import { blockAnswer, blockDetails, httpBlockAnswer } from "./answers.ts";
import { type Block, blockedFor, blockMessage } from "./blocks.ts";
import { commonSettings, connectRoute } from "./common-settings.ts";
import { idOf, isMirrored, readMessage } from "./mcp/message.ts";
import { createTargets } from "./mcp/targets.ts";
import { toolListFilter } from "./mcp/tool-lists.ts";
import type { AllowedTools, IdentifiedCall, ProtocolKind, ResponseFilter } from "./protocol.ts";

const denialForms = ["error", "result"] as const;
type Denials = (typeof denialForms)[number];

const entry = z.strictObject({
  ...commonSettings,
  protocol: z.literal("mcp"),
  data_class: dataClass.optional(),
  tools: z.record(z.string().min(1), dataClass).default({}),
  filter_tool_lists: z.boolean().default(false),
  /** How a denied `tools/call` is answered: a JSON-RPC error, or a result that the model reads. */
  denials: z.enum(denialForms).default("error"),
  routes: z.array(connectRoute).default([]),
});

/** Longer messages are answered without their id. */
const answeredBytes = 1024 * 1024;

/** One Streamable HTTP endpoint; the JSON-RPC message in the body names the call. */
export const mcp: ProtocolKind<typeof entry> = {
  entry,
  create({ url, filter_tool_lists: filtersToolLists, denials, ...settings }) {
    const { name } = settings;
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
      unmapped: blockedFor("not_endpoint", { upstream: name }),
      async readCall(body, headers, { bindCapBytes: capBytes, idleBodyMs: idleMs }) {
        if (!isJsonBody(headers)) return { unresolved: blockedFor("not_json") };
        const reading = await body.read({ capBytes: Math.max(capBytes, answeredBytes), idleMs });
        if (reading === "gone" || reading === "late") return "gone";
        const bytes = body.bytes();
        if (reading === "longer" || bytes.length > capBytes) {
          const id = reading === "whole" ? idOf(bytes) : undefined;
          return { id, unresolved: blockedFor("message_too_large", { limit: String(capBytes) }) };
        }
        const message = readMessage(bytes);
        if (typeof message === "string") return { unresolved: blockedFor(message) };
        const { id, method } = message;
        if (!isMirrored(message, headers)) return { id, method, unresolved: blockedFor("header_mismatch") };
        const call = targets.ofMessage(message);
        return { id, method, call, unresolved: call ? undefined : blockedFor("no_data_class", { upstream: name }) };
      },
      blockAnswer: (block, call) => jsonRpcBlockAnswer(block, call, denials),
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

/** -32001 is the official SDK's own time-out, and MCP reserves -32020 to -32099. */
const policyDenied = -32010;
const callFailed = -32603;

/**
 * A JSON-RPC error in a 200 for a request that waits under `id`: an HTTP error would end the MCP client's session. A
 * request without a valid bearer still gets its 401. As a tool's result a deny is read by the model itself.
 */
function jsonRpcBlockAnswer(block: Block, { id, method }: IdentifiedCall, denials: Denials): Answer {
  const { cause } = block;
  if (id === undefined || cause === "unauthorized") return httpBlockAnswer(block);
  const message = blockMessage(block);
  const answer = (content: object) => blockAnswer(block, 200, { jsonrpc: "2.0", id, ...content });
  if (cause === "policy" && denials === "result" && method === "tools/call") {
    return answer({ result: { content: [{ type: "text", text: message }], isError: true } });
  }
  const code = cause === "policy" ? policyDenied : callFailed;
  return answer({ error: { code, message, data: { code: cause, ...blockDetails(block) } } });
}
