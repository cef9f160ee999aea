import { randomUUID } from "node:crypto";
import { decodeUnverifiedHopToken, type HopClaims, issueHopToken, type SigningKey } from "@svc/tokens";
import type { Credential } from "./agents.ts";

/** Unspent tokens at one position in a chain, made before the measurement, since a verified token is cached. */
export interface TokenStock {
  /** Makes tokens up to this number. */
  fill(count: number): Promise<void>;
  /** @throws where none is left */
  take(): string;
}

/** @param lifetimeSeconds of each token */
export function tokenStock(key: SigningKey, { token }: Credential, lifetimeSeconds = 600): TokenStock {
  const claims = decodeUnverifiedHopToken(token);
  if (claims === undefined) throw new Error("no hop token");
  let stock: string[] = [];
  return {
    async fill(count) {
      const nowSeconds = Math.floor(Date.now() / 1000);
      const fresh = (): HopClaims => ({
        ...claims,
        jti: randomUUID(),
        iat: nowSeconds,
        exp: nowSeconds + lifetimeSeconds,
      });
      stock = await Promise.all(Array.from({ length: count }, () => issueHopToken(key, fresh())));
    },
    take() {
      const taken = stock.pop();
      if (taken === undefined) throw new Error("too few prepared tokens");
      return taken;
    },
  };
}
