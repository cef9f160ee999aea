import { transactionRequest, transactionResponse, txnTokenType } from "@svc/core";
import { bindParsedParams, parseStrictJson } from "@svc/tokens";
import type { SubjectToken } from "../../commands/hop/hop-tokens.ts";
import { type MintCommand, mint } from "../../commands/hop/mint.ts";
import { ApiError, requireKind } from "../../http/api-error.ts";
import { decodeParsed, illFormed, readJsonText } from "../../http/json-body.ts";
import { requireNoQuery } from "../../http/query.ts";
import { type App, routesOf } from "../../http/routes.ts";
import type { Deps } from "../deps.ts";
import { actorUnproven, hopEndpoint, unavailableAs } from "./endpoint.ts";

export function transactionRoute(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Hops");
  const reported = hopEndpoint(app, "/v1/token/transaction", deps.events, deps.events.mint);
  const fault = unavailableAs("audit_unavailable", "The mint could not be recorded; no token was issued.");
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
      const result = await reported(c, mint(deps, command)).catch(fault);
      const { transactionToken, expiresInSeconds } = requireKind(result, "minted", {
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
      const { actionId } = command;
      const issued = { issuedTokenType: txnTokenType, tokenType: "N_A", expiresIn: expiresInSeconds } as const;
      return { ...issued, transactionToken, actionId };
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
  if (!parsed.ok) throw parsed.cause === "depth" ? unbindable("depth") : illFormed("must be one JSON text");
  if (parsed.duplicateDepth === 1) throw illFormed("must not repeat a member");
  const { action_id: actionId, actor_token: actorToken } = decodeParsed(parsed.value, transactionRequest);
  // As parsed, not as decoded: a schema's copy of an object need not keep every member.
  const { params } = parsed.value as { readonly params: unknown };
  const binding = bindParsedParams(parsed, params);
  if (!binding.ok) throw unbindable(binding.cause);
  return { subject, actionId, paramsHash: binding.paramsHash, actorToken };
}

const unbindable = (cause: string): ApiError =>
  new ApiError("params_unbindable", "The parameters could be read in more than one way, so they cannot be bound.", {
    details: { cause },
  });
