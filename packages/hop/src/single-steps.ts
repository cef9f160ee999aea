import type { HopFailure, HopRun, HopTaken, LeasedAllow } from "./hop.ts";
import { decidedWith, exchangeFailed, failedAt, undecided } from "./outcomes.ts";
import { givenBackIfThrown, type Lease } from "./pool/lease.ts";
import { decide } from "./steps/decide.ts";
import { exchange } from "./steps/exchange.ts";
import { mint } from "./steps/mint.ts";

export const leaseToTake = (run: HopRun) => leaseFor(run, "leaseToTake");
export const leaseToDecide = (run: HopRun) => leaseFor(run, "leaseToDecide");

async function leaseFor({ ports, hop, step }: HopRun, purpose: "leaseToTake" | "leaseToDecide") {
  const leased = await step((options) => ports.pool[purpose](hop.credential, options));
  return leased.kind === "leased" ? leased : ({ ...leased, step: "lease" } as const);
}

/** `POST /v1/authorize`. */
export async function decideWith({ ports, hop, step }: HopRun, lease: Lease): Promise<LeasedAllow | HopFailure> {
  const { credential, call, enforced } = hop;
  const subject = { sessionId: credential.sessionId, token: lease.token };
  const decided = await givenBackIfThrown(lease, () =>
    step((options) => decide(ports.steps, subject, { ...call, enforced }, options)),
  );
  return decided.kind === "decided" ? decidedWith(lease, decided.decision) : undecided(lease, decided);
}

/** `POST /v1/token/exchange` with the token of the decision, or with one in its place where that may not be spent. */
export async function exchangeFor(run: HopRun, { lease, decision }: LeasedAllow): Promise<HopTaken | HopFailure> {
  if (lease.maySpend) return exchangeWith(run, { lease, decision });
  lease.giveBack();
  const leased = await run.step((options) => run.ports.pool.lease(run.hop.credential, options));
  if (leased.kind !== "leased") return { ...leased, step: "lease", decision };
  return exchangeWith(run, { lease: leased.lease, decision });
}

async function exchangeWith(
  { ports, hop, step }: HopRun,
  { lease, decision }: Omit<LeasedAllow, "kind">,
): Promise<HopTaken | HopFailure> {
  const { target, dataClass, taint } = hop.call;
  const request = { target, dataClass, actionId: decision.actionId, ...(taint && { taint }) };
  const subject = { sessionId: hop.credential.sessionId, token: lease.token };
  // It throws only where nothing was sent: the actor proof could not be signed.
  const exchanged = await givenBackIfThrown(lease, () =>
    step((options) => exchange(ports.steps, subject, request, options)),
  );
  if (exchanged.kind !== "exchanged") return exchangeFailed(lease, exchanged, decision);
  return { kind: "taken", decision, token: exchanged.token };
}

/** `POST /v1/token/transaction`: binds the parameters of a privileged call. */
export async function mintFor(
  { ports, hop, step }: HopRun,
  taken: HopTaken,
  paramsJson: string,
): Promise<HopTaken | HopFailure> {
  const { decision, token } = taken;
  const narrowed = { sessionId: hop.credential.sessionId, token: token.accessToken };
  const request = { actionId: decision.actionId, target: hop.call.target, paramsJson };
  const minted = await step((options) => mint(ports.steps, narrowed, request, options));
  if (minted.kind !== "minted") return failedAt("mint", minted, decision);
  return { ...taken, transactionToken: minted.transactionToken };
}
