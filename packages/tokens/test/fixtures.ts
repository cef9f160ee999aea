import { createPrivateKey, sign } from "node:crypto";
import {
  generatePrivateJwk,
  type HopClaims,
  importIssuerKey,
  type NarrowedClaims,
  narrowedClaims,
  type PrivateJwk,
  rootGrantClaims,
  type SigningKey,
  type TransactionClaims,
  transactionClaims,
  type VerificationKey,
  verificationKeyOf,
} from "../src/index.ts";

export const issuer = "https://issuer.example";
export const nowSeconds = 1_900_000_000;
export const sessionExpiresAtSeconds = nowSeconds + 3600;

export interface KeyPair {
  readonly jwk: PrivateJwk;
  readonly signing: SigningKey;
  readonly verification: VerificationKey;
  readonly keys: ReadonlyMap<string, VerificationKey>;
}

export async function makeKeyPair(): Promise<KeyPair> {
  const jwk = await generatePrivateJwk();
  const signing = await importIssuerKey(jwk);
  const verification = await verificationKeyOf(signing);
  return { jwk, signing, verification, keys: new Map([[verification.kid, verification]]) };
}

let serial = 0;
export const issuance = () => ({ jti: `jti-${++serial}`, nowSeconds, sessionExpiresAtSeconds });

export const rootGrant = (): HopClaims =>
  rootGrantClaims({ issuer, userSub: "ana", scope: "expenses", sessionId: "session-1", policyVersion: 3 }, issuance());

export const agentHop = (subject: HopClaims = rootGrant(), agent = "planner"): NarrowedClaims =>
  narrowedClaims(
    subject,
    {
      actionId: "action-1",
      target: agent,
      targetKind: "agent",
      dataClass: "finance.entries finance.plans",
      privileged: false,
      taint: "trusted_internal",
    },
    issuance(),
  );

export const toolHop = (subject: HopClaims = agentHop()): NarrowedClaims =>
  narrowedClaims(
    subject,
    {
      actionId: "action-2",
      target: "mcp:ledger/post_entry",
      targetKind: "tool",
      dataClass: "finance.entries",
      privileged: true,
      taint: "untrusted_external",
    },
    issuance(),
  );

export const transaction = (hopToken: NarrowedClaims = toolHop()): TransactionClaims =>
  transactionClaims(hopToken, "x".repeat(43), issuance());

const segment = (part: unknown): string =>
  Buffer.from(typeof part === "string" ? part : JSON.stringify(part)).toString("base64url");

/** A token with a correct ES256 signature over any header and payload; text is used unchanged. */
export function forge(jwk: PrivateJwk, header: unknown, payload: unknown): string {
  const input = `${segment(header)}.${segment(payload)}`;
  const key = createPrivateKey({ key: { ...jwk }, format: "jwk" });
  return `${input}.${sign("sha256", Buffer.from(input), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
}

export const unsigned = (header: unknown, payload: unknown, signature = ""): string =>
  `${segment(header)}.${segment(payload)}.${signature}`;

export function payloadOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
}
