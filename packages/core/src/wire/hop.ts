import { z } from "zod";
import { denyReasons } from "../deny-reason.ts";
import { guaranteeLevels, outcomes, taints, targetKinds } from "../kinds.ts";
import { dataClassList, toolRef } from "../names.ts";
import { jwt, page } from "./parts.ts";
import type { CamelCased } from "./spelling.ts";

/** Bodies of the hop routes. */

export const jwtTokenType = "urn:ietf:params:oauth:token-type:jwt";
export const txnTokenType = "urn:ietf:params:oauth:token-type:txn_token";
export const tokenExchangeGrantType = "urn:ietf:params:oauth:grant-type:token-exchange";

export const authorizeRequest = z.strictObject({
  session_id: z.string().min(1).max(255),
  target: toolRef,
  target_kind: z.enum(targetKinds),
  data_class: dataClassList,
  taint: z.enum(taints).optional(),
  enforced: z.boolean().default(true),
  actor_token: jwt.optional(),
});

export const authorizeResponse = z.object({
  action_id: z.string(),
  decision: z.enum(outcomes),
  deny_reason: z.enum(denyReasons).nullable(),
  recoverable: z.boolean(),
  consentable_scopes: z.array(z.string()).optional(),
  /** Of a recoverable deny: the page on which the person can consent to one of them. It ends after 10 minutes. */
  consent_url: z.string().optional(),
  enforced: z.boolean(),
  hop: z.int().min(1),
  acting_agent: z.string(),
  target: z.string(),
  target_kind: z.enum(targetKinds),
  data_class: z.string(),
  privileged: z.boolean(),
  transaction_required: z.boolean(),
  taint: z.enum(taints),
  taint_source: z.string().nullable(),
  /** Of an allow: the target takes calls under untrusted data, so nothing learnt later forbids this one. */
  accepts_taint: z.boolean().optional(),
  policy_version: z.int(),
  guarantee_level: z.enum(guaranteeLevels).nullable(),
  decided_at: z.string(),
});
export type AuthorizeResponse = z.output<typeof authorizeResponse>;

const traceHeader = z.string().max(8_192).optional();

/** One line of a request to the hops route: a call, the token to spend for it, and the trace it belongs to. */
export const hopLine = authorizeRequest.extend({
  token: jwt,
  /** False: more may be learnt before the body ends, so the token is spent only where the target takes untrusted data. */
  body_settled: z.boolean(),
  traceparent: traceHeader,
  tracestate: traceHeader,
  baggage: traceHeader,
});

/** What authorize or the exchange answers to the same call. */
const embeddedAnswer = z.object({
  status: z.int(),
  body: z.record(z.string(), z.unknown()),
  retry_after: z.string().optional(),
});
export type EmbeddedAnswer = CamelCased<z.output<typeof embeddedAnswer>>;

/** One line of an answer of the hops route. Without `exchange` there is the decision alone, and nothing was spent. */
export const hopAnswer = z.object({
  /** Of the request, from 0. */
  line: z.int().min(0),
  authorize: embeddedAnswer.optional(),
  exchange: embeddedAnswer.optional(),
  /** In place of the token that was spent. */
  sibling: z.object({ token: jwt, expires_in: z.int() }).optional(),
  /** Milliseconds. */
  stages: z.object({ decide: z.number(), exchange: z.number().optional() }).optional(),
});
export type HopAnswer = CamelCased<z.output<typeof hopAnswer>>;

/** Most lines of one request. */
export const maxHopLines = 64;

/** The form of the exchange (RFC 8693 section 2.1). The route reads it itself, in the order of docs/reference/routes.md#token-exchange. */
export const exchangeForm = z.object({
  grant_type: z.literal(tokenExchangeGrantType),
  subject_token: z.string(),
  subject_token_type: z.literal(jwtTokenType),
  resource: z.string(),
  scope: z.string(),
  action_id: z.string(),
  actor_token: z.string().optional(),
  actor_token_type: z.literal(jwtTokenType).optional(),
  audience: z.string().optional(),
  taint: z.enum(taints).optional(),
});

export const exchangeResponse = z.object({
  access_token: jwt,
  issued_token_type: z.literal(jwtTokenType),
  token_type: z.literal("Bearer"),
  expires_in: z.int(),
});
export type ExchangeResponse = z.output<typeof exchangeResponse>;

export const renewRequest = z.strictObject({ count: z.int().min(1).max(8), actor_token: jwt.optional() });

export const renewResponse = z.object({ tokens: z.array(jwt).min(1).max(8), expires_in: z.int() });

export const transactionRequest = z.strictObject({
  action_id: z.string().min(1).max(255),
  params: z.record(z.string(), z.unknown()),
  actor_token: jwt.optional(),
});

export const transactionResponse = z.object({
  transaction_token: jwt,
  issued_token_type: z.literal(txnTokenType),
  token_type: z.literal("N_A"),
  expires_in: z.int(),
  action_id: z.string(),
});

export const sessionTarget = z.object({
  target: z.string(),
  target_kind: z.enum(targetKinds),
  data_classes: z.array(z.string()),
  privileged: z.boolean(),
  definition_hash: z.string().optional().meta({
    description: "Of an MCP tool that discovery read: base64url(SHA-256) of the canonical form of its definition.",
  }),
  definition_parts: z.string().optional().meta({
    description:
      "8 characters of the hash of each member: title, description, inputSchema, outputSchema and annotations.",
  }),
});
export const sessionTargetPage = page(sessionTarget);
