import { type BlockCause, denyReasonTable, explainedAt, remedyOfDeny } from "@svc/core";
import type { Allowed, RecordedDeny } from "@svc/hop";

interface BlockRow {
  readonly cause: BlockCause;
  readonly status: number;
  /** What is wrong; a `{fact}` is filled in. */
  readonly text: string;
  /** What to change. */
  readonly remedy: string;
}

/** Every way a call is blocked (docs/reference/blocks.md#blocked-calls). No text holds a secret, or anything that the agent sent. */
export const blockTable = {
  denied: {
    ...{ cause: "policy", status: 403 },
    text: "{target} is denied: {label} ({deny_reason}, decision {action_id})",
    remedy: "{admitted_by}",
  },
  no_bearer: {
    ...{ cause: "unauthorized", status: 401 },
    text: "no bearer token was presented",
    remedy:
      "send Authorization: Bearer with the agent's token; or log in, where the challenge names a resource; or start the enforcement point with SVC_PEP_SESSION_FILE",
  },
  other_scheme: {
    ...{ cause: "unauthorized", status: 401 },
    text: "another scheme than Bearer was presented",
    remedy: "send Authorization: Bearer with the agent's token",
  },
  other_token: {
    ...{ cause: "unauthorized", status: 401 },
    text: "the bearer that was presented is no token of this service",
    remedy: "send Authorization: Bearer with the agent's token",
  },
  repeated_credentials: {
    ...{ cause: "unauthorized", status: 401 },
    text: "Authorization or X-Svc-Session was sent more than once",
    remedy: "send each at most once",
  },
  other_session: {
    ...{ cause: "unauthorized", status: 401 },
    text: "X-Svc-Session names another session than the token",
    remedy: "send the token's own, or none",
  },
  foreign_page: {
    ...{ cause: "unauthorized", status: 403 },
    text: "a page of another origin made this request without a bearer token",
    remedy: "call from a program, with a token",
  },
  session_ended: {
    ...{ cause: "unauthorized", status: 401 },
    text: "the session has ended",
    remedy: "present the token of a new consent",
  },
  token_refused: {
    ...{ cause: "unauthorized", status: 401 },
    text: "the token is expired, spent or refused, or is not of this session",
    remedy: "present the token of a new consent or delegation",
  },
  spent_elsewhere: {
    ...{ cause: "unauthorized", status: 401 },
    text: "the token or the decision was used before",
    remedy: "call again; if it lasts, find who else uses the token, since one token serves one enforcement point",
  },
  handle_refused: {
    ...{ cause: "unauthorized", status: 401 },
    text: "the access token is unknown, expired or revoked, or is for another resource",
    remedy: "refresh it, or log in again",
  },
  proof_refused: {
    ...{ cause: "unauthorized", status: 401 },
    text: "the control plane requires a proof by the agent's key, and got none or one that it does not accept",
    remedy: "set SVC_PEP_AGENT_KEY_FILE and SVC_PEP_AGENT_NAME to the agent's enrolled key and name",
  },
  no_upstream: {
    ...{ cause: "unresolvable_call", status: 404 },
    text: "no upstream has the first path segment of this request",
    remedy: "call one of these upstreams: {upstreams}",
  },
  unlisted_host: {
    ...{ cause: "unresolvable_call", status: 404 },
    text: "no upstream lists the host of this request",
    remedy: "add it to the hosts of an upstream, or call one of these upstreams: {upstreams}",
  },
  closed_address: {
    ...{ cause: "unresolvable_call", status: 404 },
    text: "this address is the control plane's, an upstream's or the enforcement point's own, and takes no calls past their decisions",
    remedy: "call an upstream by a host that it lists, or by its name as the first path segment",
  },
  other_host: {
    ...{ cause: "unresolvable_call", status: 421 },
    text: "the request names another host than the tunnel that it came through",
    remedy: "open a tunnel to the host itself",
  },
  no_authority: {
    ...{ cause: "unresolvable_call", status: 404 },
    text: "the request names no single valid host",
    remedy: "send one Host header with a host name and an optional port",
  },
  unsupported: {
    ...{ cause: "unresolvable_call", status: 404 },
    text: "this method or upgrade is not forwarded",
    remedy: "send a plain request, or a WebSocket handshake to an HTTP upstream",
  },
  no_route: {
    ...{ cause: "unresolvable_call", status: 404 },
    text: "upstream {upstream} has no route for this method and path",
    remedy: "call what its routes list, or add a route with a target and a data class",
  },
  not_endpoint: {
    ...{ cause: "unresolvable_call", status: 404 },
    text: "upstream {upstream} is one MCP endpoint, which takes POST, GET and DELETE and no upgrade",
    remedy: "call exactly its URL, or /{upstream} of this listener with nothing after it",
  },
  ambiguous_path: {
    ...{ cause: "unresolvable_call", status: 404 },
    text: "a server could read this path as {routes}, which have different targets",
    remedy: "request the path as its route spells it, or list the path itself above both",
  },
  odd_path: {
    ...{ cause: "unresolvable_call", status: 404 },
    text: "servers read this path differently",
    remedy:
      "send it without dot segments, doubled slashes, backslashes, fragments, control characters, and without encoded slashes, backslashes or percent signs before them",
  },
  no_data_class: {
    ...{ cause: "unresolvable_call", status: 404 },
    text: "upstream {upstream} has no data class for this method or tool, or its name is not a legal one",
    remedy: "name it under tools of the upstream, or give the upstream a data_class",
  },
  no_rule_holds: {
    ...{ cause: "unresolvable_call", status: 404 },
    text: "no rule of upstream {upstream} gives a call with these arguments a data class",
    remedy: "send arguments that one of the target's rules admits, or give the target a data_class for all others",
  },
  observe_not_admitted: {
    ...{ cause: "unresolvable_call", status: 404 },
    text: "the control plane does not admit this scope to observe mode",
    remedy: "list the scope in the control plane's SVC_OBSERVE_SCOPES, or set the upstream's mode to enforce",
  },
  not_json: {
    ...{ cause: "unresolvable_call", status: 400 },
    text: "the message is not declared as JSON in UTF-8",
    remedy: "send Content-Type: application/json without another charset, and without Content-Encoding",
  },
  malformed_message: {
    ...{ cause: "unresolvable_call", status: 400 },
    text: "the body is not one JSON value, or has bytes beside it",
    remedy: "send one JSON-RPC message in UTF-8 and nothing before or after it",
  },
  batch: {
    ...{ cause: "unresolvable_call", status: 400 },
    text: "the body is a batch of messages",
    remedy: "send each message in a request of its own",
  },
  repeated_member: {
    ...{ cause: "unresolvable_call", status: 400 },
    text: "the message or its params repeat a member, and readers differ in which one counts",
    remedy: "send each member once",
  },
  disguised_member: {
    ...{ cause: "unresolvable_call", status: 400 },
    text: "a member of the message or its params differs from a known one only in upper and lower case",
    remedy: "spell the members as MCP does",
  },
  not_a_message: {
    ...{ cause: "unresolvable_call", status: 400 },
    text: "the body is not one JSON-RPC 2.0 request, notification or answer",
    remedy:
      "send jsonrpc 2.0, either a method or a result or error, params as an object, and an id that is a text or an exact number, never null",
  },
  header_mismatch: {
    ...{ cause: "unresolvable_call", status: 400 },
    text: "MCP-Protocol-Version, Mcp-Method, Mcp-Name or an Mcp-Param header differs from the message",
    remedy: "send each header as the message has its value, encoded as MCP 2026-07-28 says",
  },
  changed_tool: {
    ...{ cause: "unresolvable_call", status: 409 },
    text: "{target} changed since its manifest was accepted: {changed}",
    remedy:
      "have the change reviewed, submit the manifest again with svc manifest submit, and call with the token of a new consent",
  },
  body_too_large: {
    ...{ cause: "body_too_large", status: 413 },
    text: "the body of a privileged call has more than {limit} bytes, and is bound whole",
    remedy: "send less, or raise SVC_PEP_BIND_CAP_BYTES",
  },
  message_too_large: {
    ...{ cause: "body_too_large", status: 413 },
    text: "the message has more than {limit} bytes, and is read whole",
    remedy: "send less, or raise SVC_PEP_BIND_CAP_BYTES",
  },
  unbindable: {
    ...{ cause: "unbindable", status: 422 },
    text: "the control plane cannot bind the body of this privileged call",
    remedy: "send one JSON object in UTF-8, no member twice, no number that a double cannot hold, nesting up to 64",
  },
  no_body: {
    ...{ cause: "unbindable", status: 422 },
    text: "a privileged call has no body to bind",
    remedy: "send its parameters as one JSON object, {} where it has none",
  },
  body_type: {
    ...{ cause: "unbindable", status: 422 },
    text: "the body of a privileged call is not declared as JSON",
    remedy: "send one Content-Type: application/json",
  },
  body_type_parameter: {
    ...{ cause: "unbindable", status: 422 },
    text: "the Content-Type of a privileged call has a parameter that servers read differently",
    remedy: "send application/json with no parameter but charset=utf-8",
  },
  body_coding: {
    ...{ cause: "unbindable", status: 422 },
    text: "the body of a privileged call is compressed or otherwise encoded",
    remedy: "send it plain, without Content-Encoding",
  },
  body_encoding: {
    ...{ cause: "unbindable", status: 422 },
    text: "the body of a privileged call is not UTF-8, or begins with a byte order mark",
    remedy: "send UTF-8 without a byte order mark",
  },
  body_syntax: {
    ...{ cause: "unbindable", status: 422 },
    text: "the body of a privileged call is not one JSON text, or has bytes beside it",
    remedy: "send one JSON object, and nothing before or after it",
  },
  body_no_object: {
    ...{ cause: "unbindable", status: 422 },
    text: "the body of a privileged call is JSON, but no object",
    remedy: "send an object whose members are the parameters",
  },
  body_depth: {
    ...{ cause: "unbindable", status: 422 },
    text: "the body of a privileged call nests deeper than 64",
    remedy: "nest objects and arrays up to 64 deep",
  },
  body_repeated_member: {
    ...{ cause: "unbindable", status: 422 },
    text: "an object in the body of a privileged call repeats a member, and readers differ in which one counts",
    remedy: "send each member once",
  },
  body_number: {
    ...{ cause: "unbindable", status: 422 },
    text: "a number in the body of a privileged call changes when a double holds it",
    remedy: "send large or exact numbers as text",
  },
  body_surrogate: {
    ...{ cause: "unbindable", status: 422 },
    text: "a text in the body of a privileged call has half a surrogate pair",
    remedy: "send well-formed Unicode",
  },
  no_decision: {
    ...{ cause: "pdp_unreachable", status: 503 },
    text: "the control plane gave no usable decision ({fault})",
    remedy: "call again; if it lasts, check SVC_CONTROL_PLANE_URL and the control plane's /readyz",
  },
  no_token: {
    ...{ cause: "exchange_unreachable", status: 503 },
    text: "the control plane gave no usable token for this call ({fault})",
    remedy: "call again; if it lasts, check the control plane's /readyz",
  },
  no_transaction_token: {
    ...{ cause: "mint_unreachable", status: 503 },
    text: "the control plane gave no usable transaction token for this call ({fault})",
    remedy: "call again; if it lasts, check the control plane's /readyz",
  },
  not_recorded: {
    ...{ cause: "audit_unavailable", status: 503 },
    text: "the decision could not be recorded",
    remedy: "call again; if it lasts, check the control plane's database",
  },
  rate_limited: {
    ...{ cause: "other", status: 503 },
    text: "the session makes more calls than the control plane admits",
    remedy: "call again {when}",
  },
  shed: {
    ...{ cause: "other", status: 503 },
    text: "the enforcement point handles as many calls as it may",
    remedy: "call again after 1 s, or make fewer calls at once",
  },
  pool_full: {
    ...{ cause: "other", status: 503 },
    text: "every pool of renewed tokens is in use",
    remedy: "call again, or use fewer sessions at once",
  },
  state_unavailable: {
    ...{ cause: "other", status: 500 },
    text: "renewed tokens cannot be stored before they are used",
    remedy: "make the folder of SVC_PEP_STATE_DIR readable and writable",
  },
  stopping: {
    ...{ cause: "other", status: 503 },
    text: "the enforcement point is stopping",
    remedy: "call again once it is back",
  },
  refused: {
    ...{ cause: "other", status: 500 },
    text: "the control plane refused a step of this call ({code})",
    remedy: "compare the versions of control plane and enforcement point, and look at the control plane's log",
  },
  redemption_refused: {
    ...{ cause: "other", status: 500 },
    text: "the control plane does not let this enforcement point redeem access tokens",
    remedy:
      "set SVC_PEP_ENFORCEMENT_TOKEN to one of the control plane's SVC_ENFORCEMENT_TOKEN, and SVC_IDP_ISSUER there",
  },
  unexpected: {
    ...{ cause: "other", status: 500 },
    text: "the call could not be handled",
    remedy: "look at the enforcement point's log",
  },
} as const satisfies Record<string, BlockRow>;

export type BlockReason = keyof typeof blockTable;
export type BlockFacts = Readonly<Record<string, string>>;

/** The row of a block, for a cause that names none. */
const defaultReasons = {
  policy: "denied",
  unauthorized: "token_refused",
  unresolvable_call: "no_route",
  body_too_large: "body_too_large",
  unbindable: "unbindable",
  pdp_unreachable: "no_decision",
  exchange_unreachable: "no_token",
  mint_unreachable: "no_transaction_token",
  audit_unavailable: "not_recorded",
  other: "unexpected",
} as const satisfies Record<BlockCause, BlockReason>;

export interface Block {
  readonly cause: BlockCause;
  readonly reason?: BlockReason | undefined;
  readonly facts?: BlockFacts | undefined;
  /** Present where a record exists. */
  readonly decision?: Allowed | RecordedDeny;
  /** The server's own `Retry-After`. */
  readonly retryAfter?: string | undefined;
}

/** Why a request names no call, or none that is forwarded. */
export type UnresolvedCall = Pick<Block, "cause" | "reason" | "facts">;

export const blockedFor = (reason: BlockReason, facts?: BlockFacts): UnresolvedCall => ({
  cause: blockTable[reason].cause,
  reason,
  ...(facts && { facts }),
});

export const rowOf = ({ cause, reason = defaultReasons[cause] }: Block): BlockRow => blockTable[reason];

/** What a block says, in one sentence and in parts (docs/reference/enforcement-point.md#blocked-answers). */
export interface BlockWords {
  /** What was wrong, what to change, and the page: for a person or a model. */
  readonly message: string;
  /** The deny reason, else the block's own. */
  readonly reason: string;
  readonly remedy: string;
  readonly link: string;
}

/** @param otherTools names that the caller may call instead */
export function blockWords(block: Block, otherTools: readonly string[] = []): BlockWords {
  const { decision, cause } = block;
  const row = rowOf(block);
  const facts: BlockFacts = { ...denyFacts(decision), ...block.facts };
  const filled = (text: string): string => text.replace(/\{(\w+)\}/g, (_, fact: string) => facts[fact] ?? "unknown");
  const instead = otherTools.length === 0 ? "" : `; instead you may call: ${otherTools.join(", ")}`;
  const denied = decision?.outcome === "deny" ? decision : undefined;
  const page = denied?.consentUrl === undefined ? "" : `; a person can consent at ${denied.consentUrl}`;
  const remedy = filled(row.remedy) + page + instead;
  const deny = denied?.denyReason ?? null;
  const link = explainedAt(deny ?? cause);
  return {
    message: `${filled(row.text)}; ${remedy}; see ${link}`,
    reason: deny ?? block.reason ?? defaultReasons[cause],
    remedy,
    link,
  };
}

const nothingNamed = "the control plane named no reason";

function denyFacts(decision: Block["decision"]): BlockFacts {
  if (decision?.outcome !== "deny") return {};
  const { target, denyReason: reason, actionId } = decision;
  return {
    target,
    action_id: actionId ?? "not named",
    deny_reason: reason ?? "no reason",
    label: reason === null ? nothingNamed : denyReasonTable[reason].label,
    admitted_by: reason === null ? "look at the control plane's record" : remedyOfDeny({ ...decision, reason }),
  };
}
