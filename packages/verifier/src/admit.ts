import { isWithin, splitDataClasses } from "@svc/core";
import {
  actChain,
  bindParams,
  bindParamsValue,
  isNarrowed,
  isPlainJson,
  type NarrowedClaims,
  sha256Base64url,
  type TokenRefusal,
  type TransactionClaims,
  type VerifyOptions,
  type VerifyRemembering,
  verifyIdentityAssertion,
  verifyToken,
} from "@svc/tokens";
import { type Admission, AdmissionRefused, type RefusalCause } from "./admission.ts";
import { type Credentials, contentHeaders, type RequestHeaders, readCredentials } from "./credentials.ts";
import { RefreshFault } from "./get-json.ts";
import type { IdentityView } from "./identity-view.ts";
import type { IssuerKeys } from "./issuer-keys.ts";
import type { AdmitRequest, CallParams, VerifierOptions } from "./options.ts";
import type { ReplayStore } from "./replay-store.ts";

export interface AdmitDeps {
  readonly issuer: string;
  readonly audience: VerifierOptions["audience"];
  readonly keys: IssuerKeys;
  readonly verifyHop: VerifyRemembering<"hop">;
  readonly view: IdentityView | undefined;
  readonly freshnessSeconds: number;
  readonly identityRequired: boolean;
  readonly replayStore: ReplayStore;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** For the difference between this clock and the issuer's (docs/reference/tokens.md#verification). */
const expLeewaySeconds = 5;

const causeOf: Readonly<Record<TokenRefusal, RefusalCause>> = {
  malformed: "malformed",
  type: "type",
  unknown_key: "signature",
  signature: "signature",
  issuer: "issuer",
  superseded: "expired",
  not_yet_valid: "malformed",
  expired: "expired",
};

/**
 * The checks, in order (docs/reference/verifier.md#admission). The transaction is spent last, so that a call refused for
 * another cause can be repeated.
 * @throws {AdmissionRefused}
 */
export async function admit(
  deps: AdmitDeps,
  request: AdmitRequest,
  onVerified: (claims: NarrowedClaims) => void,
): Promise<Admission> {
  const credentials = readCredentials(request.headers);
  const claims = await verifiedHop(deps, credentials.accessToken, audiencesOf(deps, request));
  onVerified(claims);
  if (credentials.sessionId !== claims.sessionId) throw new AdmissionRefused("session_mismatch");
  if (!isWithin(request.dataClass, splitDataClasses(claims.scope))) throw new AdmissionRefused("data_class");
  await deps.view?.ready;
  checkRevocation(deps, claims);
  const agent = await identityOf(deps, credentials, claims);
  if (claims.privileged || request.transactionRequired) await spendTransaction(deps, credentials, claims, request);
  return toAdmission(claims, agent);
}

function audiencesOf({ audience }: AdmitDeps, request: AdmitRequest): readonly string[] {
  if (request.audience !== undefined) return [request.audience];
  return [typeof audience === "function" ? audience(request) : audience].flat();
}

const verifyOptionsOf = ({ keys, issuer, now }: AdmitDeps): VerifyOptions => ({
  keys: keys.lookup,
  issuer,
  nowSeconds: now() / 1000,
  expLeewaySeconds,
});

async function verifiedHop(deps: AdmitDeps, token: string, audiences: readonly string[]): Promise<NarrowedClaims> {
  await deps.keys.ready;
  let verification = await deps.verifyHop(token, verifyOptionsOf(deps));
  if (!verification.ok && verification.cause === "unknown_key" && (await deps.keys.refetch())) {
    verification = await deps.verifyHop(token, verifyOptionsOf(deps));
  }
  if (!verification.ok) throw new AdmissionRefused(causeOf[verification.cause]);
  const { claims } = verification;
  // A sibling from a renewal has no committed allow of its own (docs/reference/routes.md#renewal).
  if (claims.renewed) throw new AdmissionRefused("type");
  // A root grant is for the issuer alone, also where the audience has the same name.
  if (!audiences.includes(claims.aud) || !isNarrowed(claims)) throw new AdmissionRefused("audience");
  return claims;
}

/** A stale view may still refuse a revoked agent; it admits no call. */
function checkRevocation({ view, freshnessSeconds }: AdmitDeps, claims: NarrowedClaims): void {
  if (view === undefined) return;
  const agents = actChain(claims).slice(1);
  if (view.pushed.isSuperseded(claims)) throw new AdmissionRefused("expired");
  if (agents.some(view.isRevoked) || view.pushed.has(claims)) throw new AdmissionRefused("revoked");
  if (view.ageSeconds() > freshnessSeconds) throw new AdmissionRefused("stale_identity_view");
}

/** The agent that `Agent-Identity` proves, null where none was sent or identities are not read. */
async function identityOf(
  { view, identityRequired, now }: AdmitDeps,
  { identityAssertion, accessToken }: Credentials,
  claims: NarrowedClaims,
): Promise<string | null> {
  if (identityAssertion === undefined && identityRequired) throw new AdmissionRefused("identity_missing");
  if (identityAssertion === undefined || view === undefined) return null;
  const caller = callerOf(claims);
  const verification = await verifyIdentityAssertion(identityAssertion, accessToken, {
    audience: claims.aud,
    nowSeconds: now() / 1000,
    expLeewaySeconds,
    keysOf: async (agent) => {
      if (caller !== null && agent !== caller) return undefined;
      return view.isRevoked(agent) ? [] : view.keysOf(agent).catch(asStale);
    },
  });
  if (!verification.ok) throw new AdmissionRefused("identity_invalid");
  return verification.proof.agent;
}

/** The calling agent; null for the human: there an agent of the scope signs (docs/reference/identity.md#proofs). */
const callerOf = (claims: NarrowedClaims): string | null => (claims.hop === 2 ? null : claims.act.sub);

function asStale(error: unknown): never {
  throw error instanceof RefreshFault ? new AdmissionRefused("stale_identity_view") : error;
}

async function spendTransaction(
  deps: AdmitDeps,
  { transactionToken }: Credentials,
  claims: NarrowedClaims,
  { headers, params }: AdmitRequest,
): Promise<void> {
  const bound = isReadAsJson(headers) ? params : undefined;
  const transaction = await checkTransaction(transactionToken, claims, bound, verifyOptionsOf(deps));
  const isFirst = await deps.replayStore.admitOnce(transaction.actionId, transaction.exp + expLeewaySeconds);
  if (!isFirst) throw new AdmissionRefused("replayed");
}

/** A call whose parameters are no body has no media type; a body of another type is read by another grammar. */
function isReadAsJson(headers: RequestHeaders): boolean {
  const { contentType, contentEncoding } = contentHeaders(headers);
  return isPlainJson({ contentType: contentType.length === 0 ? ["application/json"] : contentType, contentEncoding });
}

/**
 * Verifies the transaction token of a call (docs/reference/tokens.md#transaction-token).
 * @throws {AdmissionRefused} `transaction_missing`, `transaction_invalid` or `params_mismatch`
 */
async function checkTransaction(
  token: string | undefined,
  hop: NarrowedClaims,
  params: CallParams | undefined,
  options: VerifyOptions,
): Promise<TransactionClaims> {
  if (token === undefined) throw new AdmissionRefused("transaction_missing");
  const verification = await verifyToken("transaction", token, options);
  if (!verification.ok || !belongsTo(verification.claims, hop)) throw new AdmissionRefused("transaction_invalid");
  const { claims } = verification;
  if (claims.paramsHash !== hashOf(params)) throw new AdmissionRefused("params_mismatch");
  return claims;
}

const belongsTo = (transaction: TransactionClaims, hop: NarrowedClaims): boolean =>
  transaction.sub === hop.sub &&
  transaction.aud === hop.aud &&
  transaction.target === hop.aud &&
  transaction.scope === hop.scope &&
  transaction.sessionId === hop.sessionId &&
  transaction.actionId === hop.actionId &&
  transaction.caller === hop.act.sub &&
  transaction.hopJtiHash === sha256Base64url(hop.jti);

function hashOf(params: CallParams | undefined): string | undefined {
  if (params === undefined) return undefined;
  const isText = typeof params === "string" || params instanceof Uint8Array;
  const binding = isText ? bindParams(params) : bindParamsValue(params);
  return binding.ok ? binding.paramsHash : undefined;
}

const toAdmission = (claims: NarrowedClaims, agent: string | null): Admission => ({
  sub: claims.sub,
  caller: claims.act.sub,
  actChain: actChain(claims),
  hop: claims.hop,
  audience: claims.aud,
  targetKind: claims.targetKind,
  dataClass: claims.scope,
  sessionId: claims.sessionId,
  actionId: claims.actionId,
  policyVersion: claims.policyVersion,
  taint: claims.taint,
  privileged: claims.privileged,
  agent,
  expiresAt: claims.exp,
});
