import type { BlockCause, DenyReason } from "@svc/core";
import type { Answer } from "../message/write-answer.ts";

/** What is told of a decision in a block: closed sets, the record's name and scope names. */
export interface BlockedDecision {
  readonly actionId: string;
  readonly denyReason: DenyReason | null;
  readonly recoverable: boolean;
  readonly consentableScopes: readonly string[];
}

export interface Block {
  readonly cause: BlockCause;
  readonly decision?: BlockedDecision;
  /** Refused for want of capacity, not for what it is. */
  readonly shed?: boolean;
}

/** The one place that knows what a block looks like from outside (contract: Blocked). */
const table = {
  policy: { status: 403, message: "the policy does not allow this call" },
  unauthorized: { status: 401, message: "a valid bearer token and session are required" },
  unresolvable_call: { status: 404, message: "nothing is configured for this call" },
  body_too_large: { status: 413, message: "the body of a privileged call is too large to bind" },
  unbindable: { status: 422, message: "the body of a privileged call must be one unambiguous JSON object" },
  pdp_unreachable: { status: 503, message: "no decision could be had" },
  exchange_unreachable: { status: 503, message: "no token could be had for this call" },
  mint_unreachable: { status: 503, message: "no transaction token could be had for this call" },
  audit_unavailable: { status: 503, message: "the decision could not be recorded" },
  other: { status: 500, message: "the call could not be handled" },
} as const satisfies Record<BlockCause, { status: number; message: string }>;

const shedStatus = 503;

export const blockMessage = ({ cause }: Block): string => table[cause].message;

export const blockDetails = ({ decision }: Block) => ({
  action_id: decision?.actionId ?? null,
  deny_reason: decision?.denyReason ?? null,
  recoverable: decision?.recoverable ?? false,
  consentable_scopes: decision?.consentableScopes ?? [],
});

export const httpBlockAnswer = (block: Block): Answer =>
  blockAnswer(block, block.shed ? shedStatus : table[block.cause].status, {
    error: { code: block.cause, message: blockMessage(block) },
    details: blockDetails(block),
  });

/** A block as a protocol's own error: HTTP reports success, and `X-Svc-Blocked` marks it as ours. */
export const inBandBlockAnswer = (block: Block, content: object): Answer => blockAnswer(block, 200, content);

const blockAnswer = (block: Block, status: number, content: object): Answer => ({
  status,
  headers: [
    ...["content-type", "application/json", "cache-control", "no-store", "x-svc-blocked", block.cause],
    ...(status === 503 ? ["retry-after", "1"] : []),
    ...challenge(block, status),
  ],
  body: JSON.stringify(content),
});

/** RFC 6750 section 3. A scope whose name the header cannot spell stands in the body alone. */
function challenge({ cause, decision }: Block, status: number): string[] {
  if (status === 401) return ["www-authenticate", "Bearer"];
  if (status !== 403 || cause !== "policy" || !decision?.recoverable) return [];
  const scopes = decision.consentableScopes.filter((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope));
  const scope = scopes.length > 0 ? `, scope="${scopes.join(" ")}"` : "";
  return ["www-authenticate", `Bearer error="insufficient_scope"${scope}`];
}

export const upstreamFaults = ["upstream_unreachable", "upstream_timeout"] as const;
export type UpstreamFault = (typeof upstreamFaults)[number];

const upstreamTable = {
  upstream_unreachable: { status: 502, message: "the upstream gave no usable answer" },
  upstream_timeout: { status: 504, message: "the upstream did not answer in time" },
} as const satisfies Record<UpstreamFault, { status: number; message: string }>;

/** A failing upstream is no block: the call was allowed, and nothing of ours refused it. */
export const upstreamFaultAnswer = (fault: UpstreamFault): Answer => ({
  status: upstreamTable[fault].status,
  headers: ["content-type", "application/json", "cache-control", "no-store"],
  body: JSON.stringify({ error: { code: fault, message: upstreamTable[fault].message } }),
});
