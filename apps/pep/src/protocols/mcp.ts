import { classification, isJsonPointer } from "@svc/classify";
import { dataClass } from "@svc/core";
import { z } from "zod";
import { isJsonBody } from "../message/media-type.ts";
import { checkStdio, stdioSettings, stdioUrl } from "../stdio/settings.ts";
import { blockedFor } from "./blocks.ts";
import { commonSettings, connectRoute } from "./common-settings.ts";
import { denialForms, mcpBlockAnswer } from "./mcp/block-answer.ts";
import { consentAnswerIn, opensAddresses } from "./mcp/elicitation.ts";
import { eraOf } from "./mcp/era.ts";
import type { ListContext } from "./mcp/held-message.ts";
import { sessionChanges, subscribedChanges } from "./mcp/list-changes.ts";
import { listFilter } from "./mcp/list-filter.ts";
import { listObserver } from "./mcp/list-observer.ts";
import { mayList, mayListTools } from "./mcp/lists.ts";
import { idOf, readMessage, traceIn } from "./mcp/message.ts";
import { isMirrored } from "./mcp/mirrored-headers.ts";
import { createTargets } from "./mcp/targets.ts";
import { changeChoices, type Listing, type ProtocolKind, type ResponseFilter } from "./protocol.ts";

/** A tool or method has no path and no query. */
const classifiedTool = classification.refine(
  ({ classify }) => classify.flatMap(({ when }) => Object.keys(when)).every(isJsonPointer),
  { message: "must have JSON pointers alone, such as /amount", path: ["classify"] },
);

const entry = z
  .strictObject({
    ...commonSettings,
    url: commonSettings.url.optional().describe("The Streamable HTTP endpoint, exactly; or `command`."),
    ...stdioSettings,
    protocol: z.literal("mcp").describe("The JSON-RPC message names the call."),
    data_class: dataClass.optional().describe("Of every tool that `tools` does not name. Not of other methods."),
    tools: z
      .record(z.string().min(1), z.union([dataClass, classifiedTool]))
      .default({})
      .describe("Tool, or `#` and another method of MCP, to its data class, or to rules for one."),
    filter_tool_lists: z
      .boolean()
      .default(false)
      .describe("Lists of tools, prompts and resources hold what the caller may call at present."),
    denials: z
      .enum(denialForms)
      .default("error")
      .describe("How a denied `tools/call` is answered: a JSON-RPC error, or a result that the model reads."),
    on_change: z
      .enum(changeChoices)
      .optional()
      .describe(
        "Tools whose definition is another than the session pinned: `deny` hides and refuses them, the default while enforcing; `report` lists them for operators, the default while observing.",
      ),
    routes: z.array(connectRoute).default([]).describe("For a tunnel alone."),
  })
  .check(checkStdio);

/** Longer messages are answered without their id. */
const answeredBytes = 1024 * 1024;

/** One Streamable HTTP endpoint; the JSON-RPC message in the body names the call. */
export const mcp: ProtocolKind<typeof entry> = {
  entry,
  create({ url = stdioUrl, filter_tool_lists: filtersLists, on_change: onChange, denials, ...settings }) {
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
        const read = {
          id,
          method,
          era: eraOf(message, headers),
          trace: traceIn(message),
          listChanges: subscribedChanges(message),
          opensAddresses: opensAddresses(message),
          consent: consentAnswerIn(message),
        };
        if (!isMirrored(message, headers)) return { ...read, unresolved: blockedFor("header_mismatch") };
        const call = targets.ofMessage(message);
        return typeof call === "string"
          ? { ...read, unresolved: blockedFor(call, { upstream: name }) }
          : { ...read, call };
      },
      blockAnswer: (block, call, context) => mcpBlockAnswer(block, call, { ...context, server: name, denials }),
      listChanges: ({ listChanges = [] }, httpMethod) => {
        if (!filtersLists) return [];
        return httpMethod === "GET" ? sessionChanges : listChanges;
      },
      onChange,
      filterFor({ method, id, era }, httpMethod, listing) {
        const context = { targets, id, era, mayList: mayList(method, httpMethod) };
        if (!filtersLists || listing.mode === "observe") {
          return mayListTools(method, httpMethod) ? watchOnly(context, listing) : undefined;
        }
        return context.mayList ? filterLists(context, listing) : filterWith({ ...context, allowed: undefined });
      },
    };
  },
};

const filterWith =
  (context: ListContext): ResponseFilter =>
  (status, headers) =>
    listFilter(context, status, headers);

async function filterLists(context: Asked, { allowedTools, watch }: Listing): Promise<ResponseFilter> {
  const allowed = await allowedTools();
  return filterWith({ ...context, allowed, watch: await watch() });
}

/** Hides changed tools alone, or lists them for operators. */
async function watchOnly(context: Asked, { watch }: Listing): Promise<ResponseFilter | undefined> {
  const watched = await watch();
  if (!watched) return undefined;
  const whole: ListContext = { ...context, allowed: "all", watch: watched };
  if (watched.onChange === "deny") return filterWith(whole);
  return (status, headers) => listObserver(whole, status, headers);
}

type Asked = Omit<ListContext, "allowed" | "watch">;
