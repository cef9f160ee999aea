import { reservedCount, type StockedToken } from "./token-stock.ts";

export type PoolState =
  /** What was stored is not loaded yet. */
  | { readonly kind: "unopened" }
  | { readonly kind: "renewable" }
  /** One of the reserved tokens is presented in a renewal under way. */
  | { readonly kind: "renewing" }
  /** Refused for now: unspent tokens pass from call to call, so that the deny of each is recorded. */
  | { readonly kind: "refused"; readonly lent: Set<StockedToken> }
  /** Refused for the rest of the session: the same with all tokens left. */
  | { readonly kind: "ended"; readonly lent: Set<StockedToken> }
  /** The presented token itself did not verify: nothing was spent, nothing is worth remembering. */
  | { readonly kind: "rejected" }
  | { readonly kind: "closed" };

/** Its tokens are loaded, and it is not closed. */
export const isOpen = ({ kind }: PoolState): boolean => kind !== "unopened" && kind !== "closed";

/** Leased tokens that may come back to serve a waiting call. */
export const lentIn = (state: PoolState): Set<StockedToken> | undefined =>
  state.kind === "refused" || state.kind === "ended" ? state.lent : undefined;

export interface Renewability {
  readonly mayRenew: boolean;
  readonly isWaiting: boolean;
  readonly isRefreshDue: boolean;
}

/** What a pool with a token does next in the background. `release`: without renewals no token needs to stay reserved. */
export function nextAction(
  { kind }: PoolState,
  { mayRenew, isWaiting, isRefreshDue }: Renewability,
): "renew" | "release" | "rest" {
  switch (kind) {
    case "renewable":
      return mayRenew && (isWaiting || isRefreshDue) ? "renew" : "rest";
    case "refused":
      return mayRenew && !isWaiting && isRefreshDue ? "renew" : "rest";
    case "ended":
      return isWaiting ? "release" : "rest";
    case "unopened":
    case "renewing":
    case "rejected":
    case "closed":
      return "rest";
    default:
      return kind satisfies never;
  }
}

/** Tokens that a lease must leave in the stock. */
export function reservedIn(state: PoolState): number {
  switch (state.kind) {
    case "refused":
    case "ended":
      return 0;
    case "renewing":
      return reservedCount - 1;
    case "unopened":
    case "renewable":
    case "rejected":
    case "closed":
      return reservedCount;
    default:
      return state satisfies never;
  }
}
