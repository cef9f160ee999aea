import {
  generatePrivateJwk,
  type HopClaims,
  importIssuerKey,
  issueHopToken,
  narrowedClaims,
  rootGrantClaims,
  type SigningKey,
} from "@svc/tokens";

export const issuer = "https://control.test";
export const sessionId = "0197a000-0000-7000-8000-000000000001";
export const actionId = "0197a000-0000-7000-8000-00000000000a";

export const issuerKey: SigningKey = await importIssuerKey(await generatePrivateJwk());

let serial = 0;
export const freshJti = (): string => `jti-${++serial}`;

const issuance = (nowSeconds: number, sessionSeconds = 3600) => ({
  jti: freshJti(),
  nowSeconds,
  sessionExpiresAtSeconds: nowSeconds + sessionSeconds,
});

export const rootClaims = (nowSeconds = Date.now() / 1000, sessionSeconds = 3600): HopClaims =>
  rootGrantClaims(
    { issuer, userSub: "user-1", scope: "expenses", sessionId, policyVersion: 3 },
    issuance(nowSeconds, sessionSeconds),
  );

/** The claims that an exchange of `subject` for an agent or a tool returns. */
export const narrowed = (
  subject: HopClaims,
  target: string,
  {
    targetKind = "agent",
    dataClass = "finance",
    privileged = false,
    action = actionId,
    nowSeconds = Date.now() / 1000,
  }: {
    targetKind?: "agent" | "tool";
    dataClass?: string;
    privileged?: boolean;
    action?: string;
    nowSeconds?: number;
  } = {},
): HopClaims =>
  narrowedClaims(
    subject,
    { actionId: action, target, targetKind, dataClass, privileged, taint: "trusted_internal" },
    issuance(nowSeconds),
  );

export const signed = (claims: HopClaims): Promise<string> => issueHopToken(issuerKey, claims);
