import type { OAuthErrorCode } from "@svc/core";
import type { Grant } from "../ports/consents.ts";
import type { TokenClient } from "./clients.ts";
import type { ConsentDeps } from "./consent-deps.ts";
import { endGrant } from "./end-grant.ts";

/** What a grant type comes to: a grant whose next tokens are due, or a refusal. */
export type Granted =
  | { readonly kind: "granted"; readonly grant: Grant; readonly issuedFor: Buffer }
  | { readonly kind: "refused"; readonly error: OAuthErrorCode; readonly why: string };

export const refusedGrant = (error: OAuthErrorCode, why: string): Granted & { readonly kind: "refused" } => ({
  kind: "refused",
  error,
  why,
});

export interface TokenRequest {
  readonly client: TokenClient;
  /** An empty value counts as omitted (RFC 6749 section 3.2). */
  readonly field: (name: string) => string | undefined;
}

/** Two parties hold it, and one of them stole it: what came of it ends. */
export async function spentTwice(deps: ConsentDeps, grant: Grant, reason: string, refused: Granted): Promise<Granted> {
  await endGrant(deps, grant, { by: grant.clientId, reason });
  return refused;
}
