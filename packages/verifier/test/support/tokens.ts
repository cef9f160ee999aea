import {
  bindParams,
  generatePrivateJwk,
  type HopClaims,
  importIssuerKey,
  issueHopToken,
  issueTransactionToken,
  type NarrowedClaims,
  narrowedClaims,
  rootGrantClaims,
  type SigningKey,
  type TransactionClaims,
  toJwks,
  transactionClaims,
} from "@svc/tokens";

export const issuer = "https://control.test";
export const target = "http:ledger/post_entry";
export const dataClass = "finance.entries";
export const sessionId = "0197a000-0000-7000-8000-000000000001";

export const newKey = async (): Promise<SigningKey> => importIssuerKey(await generatePrivateJwk());
export const issuerKey = await newKey();
export const jwks = toJwks([issuerKey]);

let serial = 0;
const fresh = (prefix: string): string => `${prefix}-${++serial}`;

export interface CallFacts {
  readonly privileged?: boolean;
  readonly nowSeconds?: number;
  readonly targetKind?: "tool" | "agent";
  readonly audience?: string;
  readonly scope?: string;
  /** Agents between the human and the target. */
  readonly agents?: readonly string[];
}

/** The claims of a token for one call, as exchanges down a chain of agents make them. */
export function hopClaims(facts: CallFacts = {}): NarrowedClaims {
  const { privileged = false, nowSeconds = Date.now() / 1000, targetKind = "tool", agents = ["planner"] } = facts;
  const issuance = () => ({ jti: fresh("jti"), nowSeconds, sessionExpiresAtSeconds: nowSeconds + 3600 });
  const allow = (to: string, kind: "tool" | "agent", scope: string, isPrivileged: boolean) =>
    ({
      actionId: fresh("action"),
      target: to,
      targetKind: kind,
      dataClass: scope,
      privileged: isPrivileged,
      taint: "trusted_internal",
    }) as const;
  const consent = { issuer, userSub: "user-1", scope: "expenses", sessionId, policyVersion: 3 };
  const root: HopClaims = rootGrantClaims(consent, issuance());
  const delegated = agents.reduce<HopClaims>(
    (subject, agent) => narrowedClaims(subject, allow(agent, "agent", "finance", false), issuance()),
    root,
  );
  const last = allow(facts.audience ?? target, targetKind, facts.scope ?? dataClass, privileged);
  return narrowedClaims(delegated, last, issuance());
}

export const rootClaims = (): HopClaims =>
  rootGrantClaims(
    { issuer, userSub: "user-1", scope: "expenses", sessionId, policyVersion: 3 },
    { jti: fresh("jti"), nowSeconds: Date.now() / 1000, sessionExpiresAtSeconds: Date.now() / 1000 + 3600 },
  );

export const sign = (claims: HopClaims, key = issuerKey): Promise<string> => issueHopToken(key, claims);

export const params = '{"amount":12.5,"to":"7"}';

export const transactionOf = (
  hop: NarrowedClaims,
  over: Partial<TransactionClaims> = {},
  json = params,
): Promise<string> => {
  const binding = bindParams(json);
  if (!binding.ok) throw new Error(binding.cause);
  const claims = transactionClaims(hop, binding.paramsHash, { jti: fresh("jti"), nowSeconds: Date.now() / 1000 });
  return issueTransactionToken(issuerKey, { ...claims, ...over });
};

/** The headers of an admitted call. */
export const headersOf = (token: string, more: Record<string, string> = {}): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  "x-svc-session": sessionId,
  ...more,
});

/** The headers of a call with these facts, and its transaction token where it is privileged. */
export async function callHeaders(facts: CallFacts = {}, json = params): Promise<Record<string, string>> {
  const claims = hopClaims(facts);
  return headersOf(await sign(claims), facts.privileged ? { "txn-token": await transactionOf(claims, {}, json) } : {});
}
