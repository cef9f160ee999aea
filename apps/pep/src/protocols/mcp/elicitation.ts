import { mcpMeta, quoted } from "@svc/core";
import type { Block } from "../blocks.ts";
import type { ConsentAnswer, IdentifiedCall } from "../protocol.ts";
import type { McpMessage } from "./message.ts";

/** The key of our question among `inputRequests`, and of the client's answer to it. */
const consentKey = "svc/consent";

const member = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;

/** Whether the client opens addresses for its person: `initialize` says so, or each request of a modern revision. */
export function opensAddresses({ method, params }: McpMessage): boolean {
  const capabilities = method === "initialize" ? params.capabilities : member(params._meta, mcpMeta.clientCapabilities);
  const url = member(member(capabilities, "elicitation"), "url");
  return typeof url === "object" && url !== null;
}

/** What the person answered to the question whether to open the page. Accepted says nothing of what they did there. */
export function consentAnswerIn({ params }: McpMessage): ConsentAnswer | undefined {
  const action = member(member(params.inputResponses, consentKey), "action");
  if (action === undefined) return undefined;
  return action === "accept" ? "accepted" : "declined";
}

/** MCP 2026-07-28: Multi Round-Trip Requests. */
const mayRequireInput: ReadonlySet<string | undefined> = new Set(["tools/call", "prompts/get", "resources/read"]);

/** MCP 2025-11-25: URL Elicitation Required. */
const urlElicitationRequired = -32042;

/**
 * The answer to a recoverable deny, for a client that opens addresses: the page on which the person can consent. Undefined:
 * the deny is answered as any other.
 */
export function elicitation(
  { decision }: Block,
  { id, method, era, consent }: IdentifiedCall,
  message: string,
  facts: object,
): object | undefined {
  if (decision?.outcome !== "deny" || decision.consentUrl === undefined || consent === "declined") return undefined;
  const { consentUrl: url, actingAgent, target, consentableScopes, actionId } = decision;
  const scopes = consentableScopes.map(quoted).join(" or ");
  const question = `${actingAgent} calls ${target}, which needs your consent to ${scopes}. The page shows what it allows.`;
  const params = { mode: "url", message: question, url };
  if (era !== "modern") {
    const data = { ...facts, elicitations: [{ ...params, elicitationId: actionId }] };
    return { jsonrpc: "2.0", id, error: { code: urlElicitationRequired, message, data } };
  }
  if (!mayRequireInput.has(method)) return undefined;
  const inputRequests = { [consentKey]: { method: "elicitation/create", params } };
  return {
    jsonrpc: "2.0",
    id,
    result: { resultType: "input_required", inputRequests, _meta: { "svc/denial": facts } },
  };
}
