import { describe, expect, test } from "vitest";
import type { z } from "zod";
import * as wire from "../src/index.ts";

const jwt = "header.payload.signature";
const handle = `svc_at_${"A".repeat(43)}`;
const granted = {
  session_id: "s",
  scope: "expenses",
  agent: "planner",
  data_class: "finance crm",
  root_grant: jwt,
  expires_at: "2026-07-28T12:00:00.000Z",
};

/** One schema, a body it takes, and what changing or leaving out members makes of it. */
interface Row {
  readonly name: string;
  readonly schema: z.ZodType;
  readonly body: Readonly<Record<string, unknown>>;
  readonly required: readonly string[];
  /** A request refuses what it does not know; a response may grow. */
  readonly closed: boolean;
  readonly takes: readonly (readonly [member: string, value: unknown])[];
  readonly refuses: readonly (readonly [member: string, value: unknown])[];
}

const requests: readonly Row[] = [
  {
    name: "authorize request",
    schema: wire.authorizeRequest,
    body: { session_id: "s", target: "http:ledger/read", target_kind: "tool", data_class: "finance" },
    required: ["session_id", "target", "target_kind", "data_class"],
    closed: true,
    takes: [
      ["target", "auditor"],
      ["target_kind", "agent"],
      ["data_class", "finance crm"],
      ["taint", "trusted_internal"],
      ["taint", "untrusted_external"],
      ["enforced", false],
      ["actor_token", jwt],
    ],
    refuses: [
      ["session_id", ""],
      ["session_id", 1],
      ["session_id", "s".repeat(256)],
      ["target", ""],
      ["target", "a b"],
      ["target", "a\u0000"],
      ["target_kind", "Tool"],
      ["target_kind", null],
      ["data_class", ""],
      ["data_class", "finance finance"],
      ["data_class", "finance,crm"],
      ["data_class", ["finance"]],
      ["data_class", "a".repeat(4097)],
      ["taint", "untrusted"],
      ["taint", null],
      ["enforced", "false"],
      ["enforced", null],
      ["actor_token", ""],
      ["actor_token", "a".repeat(16_385)],
    ],
  },
  {
    name: "redemption of a handle",
    schema: wire.redeemRequest,
    body: { handle, resource: "https://pep.example/ledger" },
    required: ["handle", "resource"],
    closed: true,
    takes: [["resource", "http://127.0.0.1:16001/ledger"]],
    refuses: [
      ["handle", jwt],
      ["handle", `${handle}A`],
      ["handle", handle.slice(0, -1)],
      ["handle", ` ${handle}`],
      ["handle", handle.replace("svc_at_", "svc_rt_")],
      ["resource", "/ledger"],
      ["resource", `https://pep.example/${"a".repeat(2048)}`],
    ],
  },
  {
    name: "renewal request",
    schema: wire.renewRequest,
    body: { count: 1 },
    required: ["count"],
    closed: true,
    takes: [
      ["count", 8],
      ["actor_token", jwt],
    ],
    refuses: [
      ["count", 0],
      ["count", 9],
      ["count", -1],
      ["count", 1.5],
      ["count", "1"],
      ["count", null],
      ["actor_token", ""],
    ],
  },
  {
    name: "transaction request",
    schema: wire.transactionRequest,
    body: { action_id: "a", params: { amount: 1 } },
    required: ["action_id", "params"],
    closed: true,
    takes: [
      ["params", {}],
      ["params", { nested: { list: [1, null, "x"] } }],
      ["params", { constructor: 1 }],
      ["actor_token", jwt],
    ],
    refuses: [
      ["action_id", ""],
      ["action_id", null],
      ["params", []],
      ["params", "{}"],
      ["params", null],
      ["params", 1],
    ],
  },
  {
    name: "consent request",
    schema: wire.consentRequest,
    body: { scope: "expenses", user_sub: "alice" },
    required: ["scope", "user_sub"],
    closed: true,
    takes: [
      ["scope", "x".repeat(255)],
      ["scope", "😀".repeat(255)],
      ["user_sub", "x".repeat(255)],
      ["ttl_seconds", 60],
      ["ttl_seconds", 86_400],
      ["policy_version", 1],
    ],
    refuses: [
      ["scope", ""],
      ["scope", "x".repeat(256)],
      ["scope", "a\u0000b"],
      ["user_sub", ""],
      ["user_sub", "😀".repeat(256)],
      ["user_sub", "a\nb"],
      ["ttl_seconds", 59],
      ["ttl_seconds", 86_401],
      ["ttl_seconds", 60.5],
      ["ttl_seconds", "60"],
      ["ttl_seconds", null],
      ["policy_version", 0],
      ["policy_version", 1.5],
    ],
  },
];

const decision = {
  action_id: "a",
  decision: "deny",
  deny_reason: "TAINT_BLOCKED",
  recoverable: false,
  enforced: true,
  hop: 1,
  acting_agent: "alice",
  target: "http:ledger/read",
  target_kind: "tool",
  data_class: "finance",
  privileged: false,
  transaction_required: false,
  taint: "untrusted_external",
  taint_source: "declared",
  policy_version: 1,
  guarantee_level: "network",
  decided_at: "2026-01-01T00:00:00.000Z",
};

const responses: readonly Row[] = [
  {
    name: "authorize response",
    schema: wire.authorizeResponse,
    body: decision,
    required: Object.keys(decision),
    closed: false,
    takes: [
      ["deny_reason", null],
      ["taint_source", null],
      ["guarantee_level", null],
      ["consentable_scopes", ["travel"]],
    ],
    refuses: [
      ["decision", "allowed"],
      ["decision", null],
      ["deny_reason", "NO_SUCH_REASON"],
      ["hop", 0],
      ["hop", 1.5],
      ["taint", "none"],
      ["guarantee_level", "none"],
      ["consentable_scopes", "travel"],
      ["enforced", "true"],
      ["policy_version", null],
    ],
  },
  {
    name: "exchange response",
    schema: wire.exchangeResponse,
    body: { access_token: jwt, issued_token_type: wire.jwtTokenType, token_type: "Bearer", expires_in: 60 },
    required: ["access_token", "issued_token_type", "token_type", "expires_in"],
    closed: false,
    takes: [["expires_in", 1]],
    refuses: [
      ["access_token", ""],
      ["issued_token_type", wire.txnTokenType],
      ["token_type", "bearer"],
      ["token_type", "N_A"],
      ["expires_in", "60"],
    ],
  },
  {
    name: "transaction response",
    schema: wire.transactionResponse,
    body: {
      transaction_token: jwt,
      issued_token_type: wire.txnTokenType,
      token_type: "N_A",
      expires_in: 60,
      action_id: "a",
    },
    required: ["transaction_token", "issued_token_type", "token_type", "expires_in", "action_id"],
    closed: false,
    takes: [],
    refuses: [
      ["transaction_token", ""],
      ["issued_token_type", wire.jwtTokenType],
      ["token_type", "Bearer"],
    ],
  },
  {
    name: "renewal response",
    schema: wire.renewResponse,
    body: { tokens: [jwt], expires_in: 60 },
    required: ["tokens", "expires_in"],
    closed: false,
    takes: [["tokens", Array.from({ length: 8 }, () => jwt)]],
    refuses: [
      ["tokens", []],
      ["tokens", Array.from({ length: 9 }, () => jwt)],
      ["tokens", [""]],
      ["tokens", jwt],
    ],
  },
  {
    name: "page of session targets",
    schema: wire.sessionTargetPage,
    body: {
      data: [{ target: "http:ledger/read", target_kind: "tool", data_classes: ["finance"], privileged: false }],
      page: { next_cursor: null, limit: 50 },
    },
    required: ["data", "page"],
    closed: false,
    takes: [
      ["data", []],
      ["page", { next_cursor: "opaque", limit: 200 }],
    ],
    refuses: [
      ["data", null],
      ["data", [{}]],
      ["page", { limit: 50 }],
      ["page", { next_cursor: 1, limit: 50 }],
    ],
  },
  {
    name: "redeemed handle",
    schema: wire.redeemResponse,
    body: { ...granted, client_id: "https://client.example/metadata", handle_expires_at: "2026-07-28T12:00:00.000Z" },
    required: [...Object.keys(granted), "client_id", "handle_expires_at"],
    closed: false,
    takes: [],
    refuses: [
      ["agent", "Planner"],
      ["data_class", ""],
      ["root_grant", ""],
      ["expires_at", "tomorrow"],
      ["handle_expires_at", 1],
    ],
  },
  {
    name: "sessions beside",
    schema: wire.sessionsBeside,
    body: { data: [granted] },
    required: ["data"],
    closed: false,
    takes: [["data", []]],
    refuses: [
      ["data", null],
      ["data", [{ ...granted, root_grant: undefined }]],
    ],
  },
  {
    name: "error envelope",
    schema: wire.errorEnvelope,
    body: { error: { code: "needs_review", message: "Discovery did not answer." } },
    required: ["error"],
    closed: false,
    takes: [["details", { diff: [] }]],
    refuses: [
      ["error", { code: "needs_review" }],
      ["error", { code: "no_such_code", message: "" }],
      ["error", "needs_review"],
      ["details", []],
    ],
  },
  {
    name: "OAuth error",
    schema: wire.oauthError,
    body: { error: "invalid_grant", error_description: "The allow cannot be spent." },
    required: ["error", "error_description"],
    closed: false,
    takes: [
      ["error", "invalid_target"],
      ["error", "invalid_request"],
      ["error", "unsupported_grant_type"],
    ],
    refuses: [
      ["error", "audit_unavailable"],
      ["error", null],
    ],
  },
];

const without = (body: Readonly<Record<string, unknown>>, member: string) =>
  Object.fromEntries(Object.entries(body).filter(([name]) => name !== member));

describe.each([...requests, ...responses])("$name", ({ schema, body, required, closed, takes, refuses }) => {
  const passes = (value: unknown) => schema.safeParse(value).success;

  test("is an object with all its members", () => {
    expect(passes(body)).toBe(true);
    for (const value of [null, [], "", 1, [body]]) expect(passes(value)).toBe(false);
  });
  test.each(required)("requires %s", (member) => expect(passes(without(body, member))).toBe(false));
  test.each(takes)("accepts %s: %j", (member, value) => expect(passes({ ...body, [member]: value })).toBe(true));
  test.each(refuses)("rejects %s: %j", (member, value) => expect(passes({ ...body, [member]: value })).toBe(false));
  test(`${closed ? "refuses" : "takes"} a member it does not know`, () =>
    expect(passes({ ...body, unknown: 1 })).toBe(!closed));
});

test("a request is enforced by default", () => {
  const request = { session_id: "s", target: "t", target_kind: "tool", data_class: "d" };
  expect(wire.authorizeRequest.parse(request).enforced).toBe(true);
});
