import { issueHopToken, issueTransactionToken, rootGrantClaims, type VerifiedTokens } from "@svc/tokens";
import type { TokenSigner } from "../../ports/token-signer.ts";
import type { HopDeps } from "../deps.ts";

type SignerDeps = Pick<HopDeps, "issuerKeys" | "issuer" | "clock" | "ids"> & {
  readonly verified: Pick<VerifiedTokens<"hop">, "prime">;
};

export const tokenSigner = ({ issuerKeys, issuer, clock, ids, verified }: SignerDeps): TokenSigner => ({
  async hopToken(claims) {
    const { signingKey, lookup } = issuerKeys.current();
    const token = await issueHopToken(signingKey, claims);
    const key = lookup.get(signingKey.kid);
    // This process need not check its own signature. A tool's token is presented here for a mint only.
    if (key !== undefined && (claims.targetKind !== "tool" || claims.privileged)) verified.prime(token, key);
    return token;
  },
  transactionToken: (claims) => issueTransactionToken(issuerKeys.current().signingKey, claims),
  async rootGrant(session, denialEpoch) {
    const { signingKey } = await issuerKeys.asOf(denialEpoch);
    const sessionExpiresAtSeconds = session.expiresAtMs / 1000;
    const issuance = { jti: ids.next(), nowSeconds: clock.nowMs() / 1000, sessionExpiresAtSeconds };
    return issueHopToken(signingKey, rootGrantClaims({ ...session, issuer }, issuance));
  },
});
