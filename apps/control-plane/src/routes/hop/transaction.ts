import { transactionRequest, transactionResponse, txnTokenType } from "@svc/core";
import { bindParsedParams, parseStrictJson } from "@svc/tokens";
import { z } from "zod";
import { type MintCommand, type Minted, mint } from "../../commands/hop/mint.ts";
import type { SubjectToken } from "../../commands/hop/subject-token.ts";
import { ApiError } from "../../http/api-error.ts";
import type { App } from "../../http/endpoint.ts";
import { invalidRequest, toIssues } from "../../http/issues.ts";
import { readJsonText } from "../../http/json-body.ts";
import { jsonResponse } from "../../http/json-response.ts";
import { mount } from "../../http/mount.ts";
import { decodeQuery, readQuery } from "../../http/query.ts";
import type { HopRouteDeps } from "./authorize.ts";
import { hopFault } from "./fault.ts";
import { openSpan, takeSpan } from "./spans.ts";

export function transactionRoute(app: App, deps: HopRouteDeps): void {
  const { events } = deps;
  openSpan(app, "/v1/token/transaction", events, events.mintStarted, events.mintMalformed);
  mount(
    app,
    deps,
    {
      method: "post",
      path: "/v1/token/transaction",
      access: "narrowed",
      tag: "Hops",
      summary: "Bind a privileged call to its exact parameters, once.",
      reads: { mediaType: "application/json", schema: transactionRequest },
      replies: { 200: { description: "The transaction token.", schema: transactionResponse } },
      errors: [
        "invalid_request",
        "payload_too_large",
        "unsupported_media_type",
        "unauthorized",
        "action_not_found",
        "transaction_not_required",
        "already_minted",
        "params_unbindable",
        "mint_refused",
        "audit_unavailable",
      ],
    },
    async ({ c, caller }) => {
      decodeQuery(readQuery(c.req.raw.url), z.strictObject({}));
      const command = readCommand(caller, await readJsonText(c.req.raw));
      const result = await mint(deps, command).catch((error: unknown) => {
        events.mintUnavailable(takeSpan(c), error);
        throw hopFault(error, "audit_unavailable", "The mint could not be recorded; no token was issued.");
      });
      events.mintAnswered(takeSpan(c), result);
      return jsonResponse(toResponse(granted(result), command), 200);
    },
  );
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

function granted(result: Minted): Extract<Minted, { kind: "minted" }> {
  switch (result.kind) {
    case "minted":
      return result;
    case "unauthorized":
      throw new ApiError("unauthorized", "The bearer must be the narrowed token of the exchange.");
    case "action_not_found":
      throw new ApiError("action_not_found", "The token was narrowed from no such action.");
    case "transaction_not_required":
      throw new ApiError("transaction_not_required", "The target is not privileged: call it without a Txn-Token.");
    case "already_minted":
      throw new ApiError("already_minted", "A transaction token was minted for this action: authorize another.");
    case "invalid_proof":
      throw invalidRequest("The actor token is missing or does not prove the caller.", [
        { path: "actor_token", message: "must be signed by the caller's enrolled key for this token" },
      ]);
    case "denied":
      throw new ApiError("mint_refused", "The allow no longer holds.", {
        details: { deny_reason: result.record.denyReason, action_id: result.record.actionId },
      });
  }
}

const toResponse = (
  { transactionToken, expiresInSeconds }: Extract<Minted, { kind: "minted" }>,
  { actionId }: MintCommand,
) => ({
  transaction_token: transactionToken,
  issued_token_type: txnTokenType,
  token_type: "N_A" as const,
  expires_in: expiresInSeconds,
  action_id: actionId,
});
