import { type LeaseOptions, type LeaseResult, leased, type Sibling, type Unleased } from "./lease.ts";
import { isOpen, lentIn, type PoolState, reservedIn } from "./pool-state.ts";
import type { StockedToken, TokenStock } from "./token-stock.ts";
import { type After, waitingCalls } from "./waiters.ts";

export interface PoolLeasesPorts {
  readonly stock: TokenStock;
  readonly state: () => PoolState;
  /** Whether a token is worth renewing for a call that is not decided yet. */
  readonly mayRenewToTake: () => boolean;
  readonly monotonicMs: () => number;
  readonly after: After;
  /** A decision is over: its token may be spent again. */
  readonly onRead: () => void;
  /** A token that was read did not verify. */
  readonly onRejected: (token: string) => void;
}

/** Leases the tokens of one pool: at once where it has one, else to calls in the order in which they wait. */
export function poolLeases({ stock, state, mayRenewToTake, monotonicMs, after, onRead, onRejected }: PoolLeasesPorts) {
  // In the order in which they are served.
  const spending = waitingCalls(after);
  const taking = waitingCalls(after);
  const deciding = waitingCalls(after);
  const queues = [spending, taking, deciding];

  const toSpend = (): LeaseResult | undefined => {
    const token = stock.takeFree(reservedIn(state()));
    if (!token) return undefined;
    const lent = lentIn(state());
    lent?.add(token);
    const leasedAtMs = monotonicMs();
    const putBack = (returned: StockedToken) => {
      lent?.delete(token);
      stock.giveBack(returned);
      serve();
    };
    const replace = (sibling: Sibling) =>
      // From before it was requested, so that it never counts as alive longer than it is.
      putBack({ token: sibling.token, expiresAtMs: leasedAtMs + sibling.expiresInSeconds * 1000 });
    return leased({ token: token.token, maySpend: true }, { back: () => putBack(token), replace });
  };

  const toRead = (): LeaseResult | undefined => {
    const reading = isOpen(state()) ? stock.read() : undefined;
    if (!reading) return undefined;
    const { token, done } = reading;
    const back = () => {
      done();
      onRead();
    };
    return leased({ token, maySpend: false }, { back, reject: () => onRejected(token) });
  };

  /** After a refusal a token is only read: one that an allow spends may be the last. */
  const toDecide = () => (lentIn(state()) ? undefined : toSpend()) ?? toRead();

  const toTake = () => (lentIn(state()) || !mayRenewToTake() ? toDecide() : toSpend());

  const serve = () => {
    spending.serve(toSpend);
    if (spending.size() === 0) taking.serve(toTake);
    if (spending.size() === 0) deciding.serve(toDecide);
  };

  /** Waiting calls come first. */
  const leasing =
    (queue: typeof spending, next: () => LeaseResult | undefined) =>
    (options: LeaseOptions): LeaseResult | Promise<LeaseResult> =>
      (spending.size() === 0 && next()) || queue.wait(options);

  return {
    lease: leasing(spending, toSpend),
    leaseToTake: leasing(taking, toTake),
    leaseToDecide: leasing(deciding, toDecide),
    serve,
    /** Calls that wait for a token to spend. */
    waiting: () => ({ toSpend: spending.size(), toTake: taking.size() }),
    hasWaiting: () => queues.some((queue) => queue.size() > 0),
    /** No renewal is possible. A token in a decision, or lent, comes back and can still serve the waiting calls. */
    rejectUnservable(result: Unleased) {
      taking.serve(toRead);
      if (lentIn(state())?.size || stock.isRead()) return;
      spending.rejectAll(result);
      serve();
      taking.rejectAll(result);
      deciding.rejectAll(result);
    },
    rejectAll(result: Unleased) {
      for (const queue of queues) queue.rejectAll(result);
    },
    failAll(error: unknown) {
      for (const queue of queues) queue.failAll(error);
    },
  };
}
