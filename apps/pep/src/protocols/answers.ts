import type { Answer } from "../message/write-answer.ts";
import { type Block, type BlockWords, blockWords, rowOf } from "./blocks.ts";
import type { AnswerContext, IdentifiedCall } from "./protocol.ts";

/** What a program reads of a block, in `details` over HTTP and in `data` of a JSON-RPC error. */
export const blockFacts = (block: Block, { reason, remedy, link }: BlockWords, call?: IdentifiedCall) => ({
  ...blockDetails(block),
  target: targetOf(block, call),
  reason,
  remedy,
  link,
});

/** A caller without a valid credential does not learn which target a path is. */
const targetOf = ({ decision, cause }: Block, call: IdentifiedCall | undefined): string | null =>
  decision?.target ?? (cause === "unauthorized" ? undefined : call?.call?.target) ?? null;

export function blockDetails({ decision }: Block) {
  const deny = decision?.outcome === "deny" ? decision : undefined;
  return {
    action_id: decision?.actionId ?? null,
    deny_reason: deny?.denyReason ?? null,
    recoverable: deny?.recoverable ?? false,
    consentable_scopes: deny?.consentableScopes ?? [],
    ...(deny?.consentUrl !== undefined && { consent_url: deny.consentUrl }),
  };
}

export function httpBlockAnswer(block: Block, call?: IdentifiedCall, context: AnswerContext = {}): Answer {
  const words = blockWords(block);
  const content = {
    error: { code: block.cause, message: words.message },
    details: blockFacts(block, words, call),
  };
  return blockAnswer(block, rowOf(block).status, content, context);
}

/** With status 200 a protocol's own error: HTTP reports success, and `X-Svc-Blocked` marks it as ours. */
export const blockAnswer = (block: Block, status: number, content: object, context: AnswerContext): Answer => ({
  status,
  headers: [
    ...["content-type", "application/json", "cache-control", "no-store", "x-svc-blocked", block.cause],
    ...retryAfterOf(block, status),
    ...challenge(block, status, context),
  ],
  body: JSON.stringify(content),
});

const retryAfterOf = ({ retryAfter }: Block, status: number): string[] => {
  const wait = retryAfter ?? (status === 503 ? "1" : undefined);
  return wait === undefined ? [] : ["retry-after", wait];
};

/**
 * One challenge (RFC 6750 section 3), with the scopes that a login needs as a whole: clients replace what they had. A
 * scope name that the header cannot contain is in the body alone.
 */
function challenge(block: Block, status: number, { resource, hasBearer }: AnswerContext): string[] {
  const { recoverable, consentable_scopes: consentable } = blockDetails(block);
  const isStepUp = status === 403 && block.cause === "policy" && recoverable;
  if (status !== 401 && !isStepUp) return [];
  const error = isStepUp ? "insufficient_scope" : resource && hasBearer && "invalid_token";
  const scopes = new Set([...(resource?.scopes ?? []), ...(isStepUp ? consentable : [])]);
  const named = [...scopes].filter((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope));
  const parameters = {
    error,
    resource_metadata: resource?.metadata,
    scope: named.length > 0 ? named.join(" ") : undefined,
  };
  const texts = Object.entries(parameters).flatMap(([name, value]) => (value ? [`${name}="${value}"`] : []));
  return ["www-authenticate", ["Bearer", texts.join(", ")].join(" ").trim()];
}

const upstreamTable = {
  upstream_unreachable: {
    status: 502,
    message:
      "the call was allowed, but its upstream gave no usable answer; the enforcement point's log line of this call has the cause",
  },
  upstream_timeout: {
    status: 504,
    message: "the call was allowed, but its upstream did not answer in time; retry, or look at the upstream",
  },
} as const;
export type UpstreamFault = keyof typeof upstreamTable;

/** A failing upstream is no block: the call was allowed. */
export const upstreamFaultAnswer = (fault: UpstreamFault): Answer => ({
  status: upstreamTable[fault].status,
  headers: ["content-type", "application/json", "cache-control", "no-store"],
  body: JSON.stringify({ error: { code: fault, message: upstreamTable[fault].message } }),
});
