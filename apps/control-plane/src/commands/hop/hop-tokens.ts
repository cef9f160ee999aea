import {
  type HopClaims,
  isNarrowed,
  isSibling,
  issueHopToken,
  issueSibling,
  issueTransactionToken,
  rootGrantClaims,
  type VerifiedTokens,
} from "@svc/tokens";
import type { KeySet } from "../../ports/issuer-keys.ts";
import type { TokenSigner } from "../../ports/token-signer.ts";
import type { HopDeps } from "../deps.ts";

type VerifyDeps = Pick<HopDeps, "verifyHopToken" | "verifySibling" | "issuerKeys" | "issuer" | "clock">;

/** A presented hop token. A request verifies it once; the command gets the result. */
export type SubjectToken =
  | VerifiedToken
  /** The issuer's keys could not be read. The command throws the fault, so that its endpoint reports it. */
  | { readonly token: string; readonly fault: unknown };

export interface VerifiedToken {
  readonly token: string;
  readonly claims: HopClaims;
}

/** `current_hop`: a root grant or an agent's token. `narrowed`: a token from an exchange, a tool's included. */
export type HopTokenKind = "current_hop" | "narrowed";

/** Undefined for a token that this issuer did not sign, or that is expired or superseded. */
export async function verifySubject(deps: VerifyDeps, token: string): Promise<SubjectToken | undefined> {
  try {
    let verified = await verifyUnder(deps, token, deps.issuerKeys.current());
    if (!verified.ok && verified.cause === "unknown_key") {
      verified = await verifyUnder(deps, token, await deps.issuerKeys.recheck());
    }
    return verified.ok ? { token, claims: verified.claims } : undefined;
  } catch (fault) {
    return { token, fault };
  }
}

/** A hop token, or a sibling that came with a hop's answer. */
export function verifyUnder(deps: VerifyDeps, token: string, { lookup, siblings, minIssuedAtSeconds }: KeySet) {
  const options = { issuer: deps.issuer, nowSeconds: deps.clock.nowMs() / 1000, minIssuedAtSeconds };
  return isSibling(token)
    ? deps.verifySibling(token, { ...options, keys: siblings })
    : deps.verifyHopToken(token, { ...options, keys: lookup });
}

/** @throws the fault of the verification. */
export function requireVerified(subject: SubjectToken): VerifiedToken {
  if ("fault" in subject) throw subject.fault;
  return subject;
}

/** A tool's token serves its resource server and the mint only. */
export const isCurrentHop = ({ targetKind }: HopClaims): boolean => targetKind !== "tool";

export const isOfKind = (subject: SubjectToken, kind: HopTokenKind): boolean =>
  "fault" in subject || (kind === "narrowed" ? isNarrowed : isCurrentHop)(subject.claims);

type SignerDeps = Pick<HopDeps, "issuerKeys" | "issuer" | "clock" | "ids"> & {
  readonly verified: Pick<VerifiedTokens<"hop">, "prime">;
  readonly verifiedSiblings: Pick<VerifiedTokens<"sibling">, "prime">;
};

export const tokenSigner = ({ issuerKeys, issuer, clock, ids, ...deps }: SignerDeps): TokenSigner => ({
  async hopToken(claims) {
    const current = issuerKeys.current();
    const signingKey = current.signingKey();
    const token = await issueHopToken(signingKey, claims);
    const key = current.lookup.get(signingKey.kid);
    // This process need not check its own signature. A tool's token is presented here for a mint only.
    const isPresentedHere = claims.targetKind !== "tool" || claims.privileged;
    if (key !== undefined && isPresentedHere) deps.verified.prime(token, claims, key);
    return token;
  },
  async sibling(claims) {
    const { siblings } = issuerKeys.current().signingKey();
    const token = await issueSibling(siblings, claims);
    deps.verifiedSiblings.prime(token, claims, siblings);
    return token;
  },
  transactionToken: (claims) => issueTransactionToken(issuerKeys.current().signingKey(), claims),
  async rootGrant(session, denialEpoch) {
    const signingKey = (await issuerKeys.asOf(denialEpoch)).signingKey();
    const sessionExpiresAtSeconds = session.expiresAtMs / 1000;
    const issuance = { jti: ids.next(), nowSeconds: clock.nowMs() / 1000, sessionExpiresAtSeconds };
    return issueHopToken(signingKey, rootGrantClaims({ ...session, issuer }, issuance));
  },
});
