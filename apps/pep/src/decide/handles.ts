import { fromWire, type RedeemResponse, redeemRequest, redeemResponse, toWire } from "@svc/core";
import { errorResponse, type HopCredential, type HopPorts, parseBody, send, type TransportResponse } from "@svc/hop";
import { sha256Base64url } from "@svc/tokens";
import { blockedFor } from "../protocols/blocks.ts";
import { type Refusal, refusalOf } from "./admit.ts";
import { BoundedMap } from "./bounded-map.ts";
import { takeFirstHop } from "./first-hop.ts";

export interface HandleOptions {
  readonly hop: HopPorts;
  /** The bearer of the enforcement plane. */
  readonly enforcementToken: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export type Redemption =
  | { readonly kind: "redeemed"; readonly credential: HopCredential }
  | { readonly kind: "refused"; readonly refusal: Refusal };

export type Handles = ReturnType<typeof createHandles>;

interface Remembered {
  readonly credential: HopCredential;
  readonly expiresAtMs: number;
}

/** As many as there are pools of renewed tokens. */
const maxHandles = 1024;

/**
 * Access tokens of OAuth clients, each redeemed once for the token of the agent that acts in its session
 * (docs/reference/enforcement-point.md#access-tokens). No access token is kept: only its hash.
 */
export function createHandles({ hop, enforcementToken, now }: HandleOptions) {
  const redeemed = new BoundedMap<string, Remembered>(maxHandles);
  const underWay = new Map<string, Promise<Redemption>>();
  /** A session outlives its access tokens: each refreshed one uses the same pool of renewed tokens. */
  const sessions = new BoundedMap<string, Remembered>(maxHandles);

  const current = <Key>(known: BoundedMap<Key, Remembered>, key: Key): HopCredential | undefined => {
    const found = known.get(key);
    return found && found.expiresAtMs > now() ? found.credential : undefined;
  };

  async function redeemNow(key: string, handle: string, resource: string): Promise<Redemption> {
    const answered = await request(hop, enforcementToken, handle, resource);
    if ("cause" in answered) return { kind: "refused", refusal: answered };
    const granted = fromWire(redeemResponse, answered);
    const [expiresAtMs, handleExpiresAtMs] = [Date.parse(granted.expiresAt), Date.parse(granted.handleExpiresAt)];
    const session = JSON.stringify([resource, granted.sessionId, granted.agent, granted.dataClass]);
    let credential = current(sessions, session);
    if (!credential) {
      const taken = await takeFirstHop(hop, granted);
      if (taken.kind !== "credential") return { kind: "refused", refusal: refusedAtFirstHop(refusalOf(taken)) };
      credential = taken.credential;
      sessions.set(session, { credential, expiresAtMs });
    }
    redeemed.set(key, { credential, expiresAtMs: Math.min(handleExpiresAtMs, expiresAtMs) });
    return { kind: "redeemed", credential };
  }

  return {
    /** One request for an access token at a time. */
    async redeem(handle: string, resource: string): Promise<Redemption> {
      const key = sha256Base64url(`${resource} ${handle}`);
      const known = current(redeemed, key);
      if (known) return { kind: "redeemed", credential: known };
      const already = underWay.get(key);
      if (already) return already;
      const redemption = redeemNow(key, handle, resource).finally(() => underWay.delete(key));
      underWay.set(key, redemption);
      return redemption;
    },
    /** The credential is of no further use: the next call redeems its access token again. */
    forget({ token }: HopCredential): void {
      const isIt = ({ credential }: Remembered) => credential.token === token;
      redeemed.remove(isIt);
      sessions.remove(isIt);
    },
  };
}

/** Several calls share this hop, so it has no signal that could abort it. */
const refusedAtFirstHop = (refusal: Refusal | "gone"): Refusal => (refusal === "gone" ? { cause: "other" } : refusal);

/** `POST /v1/handles/redeem`. */
async function request(
  { steps, limits }: HopPorts,
  enforcementToken: string,
  handle: string,
  resource: string,
): Promise<RedeemResponse | Refusal> {
  const sent = await send(
    steps,
    {
      method: "POST",
      path: "/v1/handles/redeem",
      headers: { "content-type": "application/json", authorization: `Bearer ${enforcementToken}` },
      body: JSON.stringify(toWire(redeemRequest, { handle, resource })),
    },
    { deadlineMs: limits.stepMs },
  );
  if (sent.kind === "unusable") return refusedAtFirstHop(refusalOf({ ...sent, step: "exchange" }));
  const { response } = sent;
  if (response.status !== 200) return refusedRedemption(response);
  return parseBody(redeemResponse, response) ?? blockedFor("no_token", { fault: "malformed" });
}

function refusedRedemption(received: TransportResponse): Refusal {
  const response = errorResponse(received);
  const { status, code } = response;
  if (status === 404 && code === "handle_not_found") return blockedFor("handle_refused");
  // The plane's own bearer is refused, or the control plane has no sign-in and so no such route.
  if (status === 401 || status === 404) return blockedFor("redemption_refused");
  return refusedAtFirstHop(refusalOf({ kind: "unusable", step: "exchange", fault: "status", response }));
}
