import { transactionRequest, transactionResponse, txnTokenType } from "@svc/core";
import { bindParsedParams, parseStrictJson } from "@svc/tokens";
import { type MintCommand, type Minted, mint } from "../../commands/hop/mint.ts";
import type { SubjectToken } from "../../commands/hop/subject-token.ts";
import { ApiError } from "../../http/api-error.ts";
import type { App } from "../../http/endpoint.ts";
import { invalidRequest, toIssues } from "../../http/issues.ts";
import { readJsonText } from "../../http/json-body.ts";
import { requireNoQuery } from "../../http/query.ts";
import { requireKind } from "../../http/require-kind.ts";
import { routesOf } from "../../http/routes.ts";
import type { HopRouteDeps } from "./authorize.ts";
import { actorUnproven, hopFault } from "./fault.ts";
import { openSpan, takeSpan } from "./spans.ts";

export function transactionRoute(app: App, deps: HopRouteDeps): void {
  const { route } = routesOf(app, deps, "Hops");
  const { events } = deps;
  openSpan(app, "/v1/token/transaction", events, events.mintStarted, events.mintMalformed);
  route("POST /v1/token/transaction", {
    access: "narrowed",
    summary: "Bind a privileged call to its exact parameters, once.",
    reads: { mediaType: "application/json", schema: transactionRequest },
    reply: { description: "The transaction token.", schema: transactionResponse },
    errors: [
      ...(["invalid_request", "payload_too_large", "unsupported_media_type", "unauthorized"] as const),
      ...(["action_not_found", "transaction_not_required", "already_minted"] as const),
      ...(["params_unbindable", "mint_refused", "audit_unavailable"] as const),
    ],
    handle: async ({ c, caller }) => {
      requireNoQuery(c.req.raw.url);
      const command = readCommand(caller, await readJsonText(c.req.raw));
      const result = await mint(deps, command).catch((error: unknown) => {
        events.mintUnavailable(takeSpan(c), error);
        throw hopFault(error, "audit_unavailable", "The mint could not be recorded; no token was issued.");
      });
      events.mintAnswered(takeSpan(c), result);
      return toAnswer(minted(result), command);
    },
  });
}

/** The parameters nest one deeper in this body than in the call, and may nest 64 deep there. */
const maxDepth = 65;

/**
 * Reads the body itself, since what a strict reader would call malformed (a repeated member, a number that changes) is
 * here a parameter that cannot be bound.
 */
function readCommand(subject: SubjectToken, text: string): MintCommand {
  const parsed = parseStrictJson(text, { maxDepth });
  if (!parsed.ok) throw parsed.cause === "depth" ? unbindable("depth") : malformed("must be one JSON text");
  if (parsed.duplicateDepth === 1) throw malformed("must not repeat a member");
  const body = transactionRequest.safeParse(parsed.value);
  if (!body.success) throw invalidRequest("The body is not what this route takes.", toIssues(body.error));
  // As parsed, not as decoded: a schema's copy of an object need not keep every member.
  const { params } = parsed.value as { readonly params: unknown };
  const binding = bindParsedParams(parsed, params);
  if (!binding.ok) throw unbindable(binding.cause);
  const { action_id: actionId, actor_token: actorToken } = body.data;
  return { subject, actionId, paramsHash: binding.paramsHash, actorToken };
}

const malformed = (message: string): ApiError =>
  invalidRequest("The body is not well-formed JSON.", [{ path: "", message }]);

const unbindable = (cause: string): ApiError =>
  new ApiError("params_unbindable", "The parameters could be read in more than one way, so they cannot be bound.", {
    details: { cause },
  });

const minted = (result: Minted) =>
  requireKind(result, "minted", {
    unauthorized: "The bearer must be the narrowed token of the exchange.",
    action_not_found: "The token was narrowed from no such action.",
    transaction_not_required: "The target is not privileged: call it without a Txn-Token.",
    already_minted: "A transaction token was minted for this action: authorize another.",
    invalid_proof: actorUnproven,
    denied: ({ record }) =>
      new ApiError("mint_refused", "The allow no longer holds.", {
        details: { deny_reason: record.denyReason, action_id: record.actionId },
      }),
  });

const toAnswer = (
  { transactionToken, expiresInSeconds }: Extract<Minted, { kind: "minted" }>,
  { actionId }: MintCommand,
) =>
  ({
    transactionToken,
    issuedTokenType: txnTokenType,
    tokenType: "N_A",
    expiresIn: expiresInSeconds,
    actionId,
  }) as const;
