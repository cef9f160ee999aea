import type { ErrorResponse, Unusable, UnusableFault } from "../steps/send.ts";

/** An unspent token. Its end is the first of `giveBack`, `reject` and `replace`; what follows has no effect. */
export interface Lease {
  readonly token: string;
  /** True: leased to one caller, who may spend it. False: shared, to decide with; an exchange needs another lease. */
  readonly maySpend: boolean;
  /** Returns the token because it was not spent. Not called: one that may be spent counts as spent. */
  giveBack(): void;
  /** Returns a token that did not verify: it is of no further use. */
  reject(): void;
  /** Puts a sibling in place of the token, which was spent. */
  replace(sibling: Sibling): void;
}

/** A token that came with the answer of a hop. */
export interface Sibling {
  readonly token: string;
  readonly expiresInSeconds: number;
}

/** Faults beyond the steps': all pools are busy, the state could not be read or written, the pool is closed. */
export const poolFaults = ["pool_full", "state_unavailable", "closed"] as const;
export type PoolFault = (typeof poolFaults)[number];

export interface LeaseFault extends Omit<Unusable, "fault"> {
  readonly fault: UnusableFault | PoolFault;
}

/** Why there is no token. `unauthorized`: the presented one is refused, or expired without a live pool, or it ran dry. */
export type Unleased = { readonly kind: "unauthorized"; readonly response?: ErrorResponse } | LeaseFault;

export type LeaseResult = { readonly kind: "leased"; readonly lease: Lease } | Unleased;

/** How a lease ends. Without `reject` a token that did not verify is not returned. */
interface LeaseEnds {
  readonly back: () => void;
  readonly reject?: () => void;
  readonly replace?: (sibling: Sibling) => void;
}

/** A lease that ends at most once. */
export function leased(lease: Pick<Lease, "token" | "maySpend">, { back, reject, replace }: LeaseEnds): LeaseResult {
  let isHeld = true;
  const once = (end: () => void) => {
    if (!isHeld) return;
    isHeld = false;
    end();
  };
  const rejectedBack = () => {
    if (!reject) return;
    back();
    reject();
  };
  return {
    kind: "leased",
    lease: {
      ...lease,
      giveBack: () => once(back),
      reject: () => once(rejectedBack),
      replace: (sibling) => once(() => replace?.(sibling)),
    },
  };
}

/** Gives the token back where `run` throws, which it does only where nothing was sent. */
export async function givenBackIfThrown<T>(lease: Lease, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    lease.giveBack();
    throw error;
  }
}

export interface LeaseOptions {
  /** Milliseconds to wait for a token; a renewal under way continues after it. */
  readonly deadlineMs: number;
  readonly signal?: AbortSignal;
}
