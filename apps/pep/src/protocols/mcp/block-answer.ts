import type { DenyReason } from "@svc/core";
import type { Answer } from "../../message/write-answer.ts";
import { blockAnswer, blockFacts, httpBlockAnswer } from "../answers.ts";
import { type Block, blockWords } from "../blocks.ts";
import type { AnswerContext, IdentifiedCall } from "../protocol.ts";

import { elicitation } from "./elicitation.ts";

export const denialForms = ["error", "result"] as const;

export interface AnswerSettings extends AnswerContext {
  /** The upstream's name. */
  readonly server: string;
  readonly denials: (typeof denialForms)[number];
}

/** -32001 is the official SDK's own time-out, and MCP reserves -32020 to -32099. */
const policyDenied = -32010;
const callFailed = -32603;
/** Of MCP 2026-07-28, each with the HTTP status that it prescribes. */
const headerMismatch = [400, -32020] as const;
const methodNotFound = [404, -32601] as const;

/** Member of a result's `_meta` with what a JSON-RPC error has in `data`. */
const denialMeta = "svc/denial";

/**
 * A JSON-RPC error in a 200 for a request that waits under `id`: an HTTP error would end the MCP client's session. A
 * request without a valid bearer still gets its 401. As a tool's result a deny is read by the model itself.
 */
export function mcpBlockAnswer(block: Block, call: IdentifiedCall, settings: AnswerSettings): Answer {
  const { cause } = block;
  const { id, method, era } = call;
  if (id === undefined || cause === "unauthorized") return httpBlockAnswer(block, call, settings);
  const words = blockWords(block, otherTools(block, call, settings));
  const data = { code: cause, ...blockFacts(block, words, call) };
  const asked =
    call.opensAddresses || settings.opensAddresses ? elicitation(block, call, words.message, data) : undefined;
  if (asked) return blockAnswer(block, 200, asked, settings);
  if (cause === "policy" && settings.denials === "result" && method === "tools/call") {
    const complete = era === "modern" && { resultType: "complete" };
    // Not as structured content: that would have to match the tool's own output schema.
    const content = [{ type: "text", text: words.message }];
    const result = { ...complete, content, isError: true, _meta: { [denialMeta]: data } };
    return blockAnswer(block, 200, { jsonrpc: "2.0", id, result }, settings);
  }
  const [status, code] = errorOf(block, call);
  return blockAnswer(block, status, { jsonrpc: "2.0", id, error: { code, message: words.message, data } }, settings);
}

/** Reasons that leave the caller's other tools as they are. */
const concernsTheCallAlone: ReadonlySet<DenyReason | null> = new Set([
  "TARGET_BLOCKED",
  "TARGET_NOT_DECLARED",
  "SCOPE_NOT_CONSENTED",
  "DATA_CLASS_NOT_DECLARED",
  "DATA_CLASS_WIDENED",
  "TAINT_BLOCKED",
]);

const namedTools = 8;

/** Tools of the same server that the caller may call instead of the denied one. */
function otherTools({ decision }: Block, { method }: IdentifiedCall, { server, allowed }: AnswerSettings): string[] {
  if (decision?.outcome !== "deny" || method !== "tools/call" || !allowed) return [];
  if (!concernsTheCallAlone.has(decision.denyReason)) return [];
  const prefix = `mcp:${server}/`;
  return [...allowed.keys()]
    .filter((target) => target.startsWith(prefix) && target !== decision.target)
    .map((target) => target.slice(prefix.length))
    .sort()
    .slice(0, namedTools);
}

function errorOf(block: Block, call: IdentifiedCall): readonly [status: number, code: number] {
  if (block.reason === "header_mismatch") return headerMismatch;
  if (call.era === "modern" && isUndeclaredMethod(block, call)) return methodNotFound;
  return [200, block.cause === "policy" ? policyDenied : callFailed];
}

/** What neither the file nor the policy declares is, to a client of a modern revision, no method of the server. */
function isUndeclaredMethod({ reason, decision }: Block, { method, call }: IdentifiedCall): boolean {
  if (call === undefined) return reason === "no_data_class" && method !== "tools/call";
  const isMethod = call.target.endsWith(`#${method}`);
  return isMethod && decision?.outcome === "deny" && decision.denyReason === "TARGET_NOT_DECLARED";
}
