import { type HopRequest, type PresentState, splitDataClasses } from "@svc/core";
import { actChain, type HopClaims, sha256Base64url } from "@svc/tokens";
import type { SessionState } from "../../ports/session-state.ts";
import type { HopDeps } from "../deps.ts";

/** The agents up to the token's holder, without the human. */
export const chainOf = (claims: HopClaims): readonly string[] => actChain(claims).slice(1);

/** The scope of a root grant is the consent; the scope of a narrowed token lists data classes. */
export const narrowedTo = (claims: HopClaims): readonly string[] | undefined =>
  claims.act === null ? undefined : splitDataClasses(claims.scope);

export const toHopRequest = (
  claims: HopClaims,
  requested: Pick<HopRequest, "target" | "targetKind" | "dataClass" | "declaredTaint">,
): HopRequest => ({
  ...requested,
  hop: claims.hop,
  chain: chainOf(claims),
  narrowedTo: narrowedTo(claims),
  tokenTaint: claims.taint,
});

export const toPresentState = (
  deps: Pick<HopDeps, "clock" | "hopSettings">,
  { facts, revoked, identities, blocks, marks }: SessionState,
): PresentState => ({
  session: { expired: deps.clock.nowMs() >= facts.expiresAtMs, revoked },
  identities,
  identityRequired: deps.hopSettings.identityRequired,
  blocks,
  marks,
  otherScopes: [],
});

export const jtiHashOf = (claims: HopClaims): Uint8Array => Buffer.from(sha256Base64url(claims.jti), "base64url");
