import type { EmbeddedAnswer, OAuthErrorCode, oauthError } from "@svc/core";
import type { z } from "zod";
import { jsonResponse } from "./routes.ts";

/** RFC 6749 section 5.1. */
export const oauthHeaders = { "Cache-Control": "no-store", Pragma: "no-cache" };

/** `actionId`: of the recorded deny. */
interface RefusalOptions {
  readonly waitSeconds?: number;
  readonly actionId?: string;
}

/** RFC 6749 section 5.2. */
export function refusal(
  status: number,
  error: OAuthErrorCode,
  description: string,
  { waitSeconds = 0, actionId }: RefusalOptions = {},
): EmbeddedAnswer {
  const body = { error, error_description: description, ...(actionId !== undefined && { action_id: actionId }) };
  const answer = { status, body: body satisfies z.output<typeof oauthError> };
  return waitSeconds > 0 ? { ...answer, retryAfter: String(waitSeconds) } : answer;
}

export const refuse = (...options: Parameters<typeof refusal>): Response => respond(refusal(...options));

export const respond = ({ status, body, retryAfter: wait }: EmbeddedAnswer): Response =>
  jsonResponse(body, status, wait === undefined ? oauthHeaders : { ...oauthHeaders, "Retry-After": wait });
