import { z } from "zod";
import { denyReasons } from "./deny-reason.ts";
import { errorCodes, oauthErrorCodes } from "./error-code.ts";
import { guaranteeLevels, outcomes, targetKinds } from "./kinds.ts";
import { dataClassList, scopeName, toolRef, userSub } from "./names.ts";
import { taints } from "./taint-level.ts";

/** HTTP bodies that server, client and enforcement point share, in wire spelling (`snake_case`). */

export const jwtTokenType = "urn:ietf:params:oauth:token-type:jwt";
export const txnTokenType = "urn:ietf:params:oauth:token-type:txn_token";
export const tokenExchangeGrantType = "urn:ietf:params:oauth:grant-type:token-exchange";

export const errorEnvelope = z.object({
  error: z.object({ code: z.enum(errorCodes), message: z.string() }),
  details: z.record(z.string(), z.unknown()).optional(),
});
export type ErrorEnvelope = z.infer<typeof errorEnvelope>;

/** RFC 6749 section 5.2. */
export const oauthError = z.object({ error: z.enum(oauthErrorCodes), error_description: z.string() });
export type OAuthError = z.infer<typeof oauthError>;

const jwt = z.string().min(1).max(16_384);

export const authorizeRequest = z.strictObject({
  session_id: z.string().min(1).max(255),
  target: toolRef,
  target_kind: z.enum(targetKinds),
  data_class: dataClassList,
  taint: z.enum(taints).optional(),
  enforced: z.boolean().default(true),
  actor_token: jwt.optional(),
});
export type AuthorizeRequest = z.input<typeof authorizeRequest>;

export const authorizeResponse = z.object({
  action_id: z.string(),
  decision: z.enum(outcomes),
  deny_reason: z.enum(denyReasons).nullable(),
  recoverable: z.boolean(),
  consentable_scopes: z.array(z.string()).optional(),
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
  policy_version: z.int(),
  guarantee_level: z.enum(guaranteeLevels).nullable(),
  decided_at: z.string(),
});
export type AuthorizeResponse = z.infer<typeof authorizeResponse>;

export const exchangeResponse = z.object({
  access_token: jwt,
  issued_token_type: z.literal(jwtTokenType),
  token_type: z.literal("Bearer"),
  expires_in: z.int(),
});
export type ExchangeResponse = z.infer<typeof exchangeResponse>;

export const renewRequest = z.strictObject({ count: z.int().min(1).max(8), actor_token: jwt.optional() });
export type RenewRequest = z.infer<typeof renewRequest>;

export const renewResponse = z.object({ tokens: z.array(jwt).min(1).max(8), expires_in: z.int() });
export type RenewResponse = z.infer<typeof renewResponse>;

export const transactionRequest = z.strictObject({
  action_id: z.string().min(1).max(255),
  params: z.record(z.string(), z.unknown()),
  actor_token: jwt.optional(),
});
export type TransactionRequest = z.infer<typeof transactionRequest>;

export const transactionResponse = z.object({
  transaction_token: jwt,
  issued_token_type: z.literal(txnTokenType),
  token_type: z.literal("N_A"),
  expires_in: z.int(),
  action_id: z.string(),
});
export type TransactionResponse = z.infer<typeof transactionResponse>;

export const consentRequest = z.strictObject({
  scope: scopeName,
  user_sub: userSub,
  ttl_seconds: z.int().min(60).max(86_400).optional(),
  policy_version: z.int().min(1).optional(),
});
export type ConsentRequest = z.infer<typeof consentRequest>;

export const consentResponse = z.object({
  session_id: z.string(),
  root_grant: jwt,
  policy_version: z.int(),
  scope: z.string(),
  user_sub: z.string(),
  hop_budget: z.int(),
  expires_at: z.string(),
});
export type ConsentResponse = z.infer<typeof consentResponse>;

/** `Page[T]` (specification: Page envelope). */
export const page = <T extends z.ZodType>(item: T) =>
  z.object({ data: z.array(item), page: z.object({ next_cursor: z.string().nullable(), limit: z.int() }) });

export const sessionTarget = z.object({
  target: z.string(),
  target_kind: z.enum(targetKinds),
  data_classes: z.array(z.string()),
  privileged: z.boolean(),
});
export type SessionTarget = z.infer<typeof sessionTarget>;
export const sessionTargetPage = page(sessionTarget);
