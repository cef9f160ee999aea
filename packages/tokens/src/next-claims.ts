import type { Taint, TargetKind } from "@svc/core";
import { nextAct } from "./act-chain.ts";
import { type HopClaims, isNarrowed, type NarrowedClaims, type TransactionClaims } from "./claims.ts";
import { sha256Base64url } from "./encoding.ts";

/** The lifetime of an exchanged token (docs/reference/conventions.md#limits). */
export const hopTokenLifetimeSeconds = 60;

/** What is new with every token. */
export interface Issuance {
  readonly jti: string;
  readonly nowSeconds: number;
  /** No token outlives its session. */
  readonly sessionExpiresAtSeconds: number;
}

export interface ConsentFacts {
  readonly issuer: string;
  readonly userSub: string;
  readonly scope: string;
  readonly sessionId: string;
  readonly policyVersion: number;
}

/** The allow that an exchange spends. */
export interface AllowFacts {
  readonly actionId: string;
  readonly target: string;
  readonly targetKind: TargetKind;
  readonly dataClass: string;
  readonly privileged: boolean;
  /** The effective taint the decision was made under. */
  readonly taint: Taint;
}

/** A consent's root grant: hop 1, for the issuer alone, as long as its session. */
export function rootGrantClaims(consent: ConsentFacts, issuance: Issuance): HopClaims {
  return {
    iss: consent.issuer,
    sub: consent.userSub,
    aud: consent.issuer,
    scope: consent.scope,
    hop: 1,
    act: null,
    sessionId: consent.sessionId,
    policyVersion: consent.policyVersion,
    actionId: null,
    taint: "trusted_internal",
    targetKind: null,
    privileged: false,
    renewed: false,
    ...fresh(issuance, issuance.sessionExpiresAtSeconds),
  };
}

/** Claims of an exchanged token: the subject token one hop further, narrowed to what was allowed. */
export function narrowedClaims(subject: HopClaims, allow: AllowFacts, issuance: Issuance): NarrowedClaims {
  return {
    iss: subject.iss,
    sub: subject.sub,
    aud: allow.target,
    scope: allow.dataClass,
    hop: subject.hop + 1,
    act: nextAct(subject),
    sessionId: subject.sessionId,
    policyVersion: subject.policyVersion,
    actionId: allow.actionId,
    taint: allow.taint,
    targetKind: allow.targetKind,
    privileged: allow.privileged,
    renewed: false,
    ...fresh(issuance, shortLived(issuance)),
  };
}

/** A renewal's sibling: the same place in the chain, a fresh `jti`, no right to be admitted by itself. */
export function siblingClaims(subject: HopClaims, taint: Taint, issuance: Issuance): HopClaims {
  const lifetime = isNarrowed(subject) ? shortLived(issuance) : issuance.sessionExpiresAtSeconds;
  return { ...subject, taint, renewed: true, ...fresh(issuance, lifetime) };
}

/** The transaction token beside a narrowed token: the same call, bound to its parameters, for what is left of its life. */
export function transactionClaims(
  hopToken: NarrowedClaims,
  paramsHash: string,
  issuance: Pick<Issuance, "jti" | "nowSeconds">,
): TransactionClaims {
  return {
    iss: hopToken.iss,
    sub: hopToken.sub,
    aud: hopToken.aud,
    scope: hopToken.scope,
    actionId: hopToken.actionId,
    caller: hopToken.act.sub,
    sessionId: hopToken.sessionId,
    target: hopToken.aud,
    paramsHash,
    hopJtiHash: sha256Base64url(hopToken.jti),
    ...fresh(issuance, hopToken.exp),
  };
}

const shortLived = ({ nowSeconds, sessionExpiresAtSeconds }: Issuance): number =>
  Math.min(nowSeconds + hopTokenLifetimeSeconds, sessionExpiresAtSeconds);

const fresh = ({ jti, nowSeconds }: Pick<Issuance, "jti" | "nowSeconds">, expiresAtSeconds: number) => ({
  jti,
  iat: Math.floor(nowSeconds),
  exp: Math.floor(expiresAtSeconds),
});
