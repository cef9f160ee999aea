import type { BlockCause } from "@svc/core";
import type { Allowed, RecordedDeny } from "@svc/hop";
import type { Answer } from "../message/write-answer.ts";

export interface Block {
  readonly cause: BlockCause;
  /** Replaces the cause's own text: what exactly is wrong, and what to change. Holds no secret. */
  readonly message?: string | undefined;
  /** Replaces the cause's own status. */
  readonly status?: number;
  /** Present where a record exists. */
  readonly decision?: Allowed | RecordedDeny;
  /** Every slot for calls was in use. */
  readonly shed?: boolean;
}

/** Status and text of every block (docs/reference/enforcement-point.md#blocked-answers). */
const table = {
  policy: { status: 403, message: "the policy does not allow this call" },
  unauthorized: { status: 401, message: "a valid bearer token and session are required" },
  unresolvable_call: { status: 404, message: "nothing is configured for this call" },
  body_too_large: { status: 413, message: "the body of a privileged call is too large to bind" },
  unbindable: { status: 422, message: "the body of a privileged call must be one unambiguous JSON object" },
  pdp_unreachable: { status: 503, message: "the control plane gave no decision" },
  exchange_unreachable: { status: 503, message: "the control plane gave no token for this call" },
  mint_unreachable: { status: 503, message: "the control plane gave no transaction token for this call" },
  audit_unavailable: { status: 503, message: "the decision could not be recorded" },
  other: { status: 500, message: "the call could not be handled" },
} as const satisfies Record<BlockCause, { status: number; message: string }>;

export const blockMessage = ({ cause, message }: Block): string => message ?? table[cause].message;

export function blockDetails({ decision }: Block) {
  const deny = decision?.outcome === "deny" ? decision : undefined;
  return {
    action_id: decision?.actionId ?? null,
    deny_reason: deny?.denyReason ?? null,
    recoverable: deny?.recoverable ?? false,
    consentable_scopes: deny?.consentableScopes ?? [],
  };
}

export const httpBlockAnswer = (block: Block): Answer =>
  blockAnswer(block, block.status ?? (block.shed ? 503 : table[block.cause].status), {
    error: { code: block.cause, message: blockMessage(block) },
    details: blockDetails(block),
  });

/** With status 200 a protocol's own error: HTTP reports success, and `X-Svc-Blocked` marks it as ours. */
export const blockAnswer = (block: Block, status: number, content: object): Answer => ({
  status,
  headers: [
    ...["content-type", "application/json", "cache-control", "no-store", "x-svc-blocked", block.cause],
    ...(status === 503 ? ["retry-after", "1"] : []),
    ...challenge(block, status),
  ],
  body: JSON.stringify(content),
});

/** RFC 6750 section 3. A scope name that the header cannot contain is in the body alone. */
function challenge(block: Block, status: number): string[] {
  if (status === 401) return ["www-authenticate", "Bearer"];
  const { recoverable, consentable_scopes: scopes } = blockDetails(block);
  if (status !== 403 || block.cause !== "policy" || !recoverable) return [];
  const named = scopes.filter((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope));
  const scope = named.length > 0 ? `, scope="${named.join(" ")}"` : "";
  return ["www-authenticate", `Bearer error="insufficient_scope"${scope}`];
}

const upstreamTable = {
  upstream_unreachable: { status: 502, message: "the upstream gave no usable answer" },
  upstream_timeout: { status: 504, message: "the upstream did not answer in time" },
} as const;
export type UpstreamFault = keyof typeof upstreamTable;

/** A failing upstream is no block: the call was allowed. */
export const upstreamFaultAnswer = (fault: UpstreamFault): Answer => ({
  status: upstreamTable[fault].status,
  headers: ["content-type", "application/json", "cache-control", "no-store"],
  body: JSON.stringify({ error: { code: fault, message: upstreamTable[fault].message } }),
});
