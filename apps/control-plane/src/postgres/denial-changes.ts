import { budgets } from "../budgets.ts";
import type { DenialHold } from "../ports/denial-hold.ts";
import { bounded, type Pool, type Transaction, waitingUpTo } from "./database.ts";

/** Any constant, the same in every process. PostgreSQL grants it in the order of the requests. */
const advisoryLock = 7_270_125_203;

/** Changes of what concerns all sessions: revocations, blocks, enrollments, issuer keys. */
export interface DenialChanges extends DenialHold {
  /**
   * One transaction, one after the other, durable when it resolves: a process with many changes waits on one connection,
   * and its calls keep the others.
   */
  change<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
}

/** Of changes and calls that wait, a process serves one change, then all calls, on one connection of the pool. */
export function denialChanges(writer: Pool): DenialChanges {
  const changes: Waiting[] = [];
  let calls: Waiting[] = [];
  let isServing = false;

  async function serve(): Promise<void> {
    if (isServing) return;
    isServing = true;
    while (changes.length + calls.length > 0) {
      await changes.shift()?.run();
      if (calls.length > 0) await hold();
    }
    isServing = false;
  }

  /** Calls that come while it waits for the lock are among them; later ones wait for the next hold. */
  async function hold(): Promise<void> {
    let held: Waiting[] = [];
    const take = (): void => {
      [held, calls] = [calls, []];
    };
    await writer
      .transaction(async (tx) => {
        await waitingUpTo(tx, writer.deadlineMs);
        await tx`select pg_advisory_xact_lock_shared(${advisoryLock})`;
        take();
        await Promise.all(held.map(({ run }) => run()));
      })
      .catch((fault: unknown) => {
        if (held.length === 0) take();
        for (const { reject } of held) reject(fault);
      });
  }

  return {
    change(work) {
      const waiting = waitFor(() =>
        writer.within(budgets.emergency).transaction(async (tx) => {
          await waitingUpTo(tx, budgets.emergency);
          await tx`select pg_advisory_xact_lock(${advisoryLock})`;
          return work(tx);
        }),
      );
      changes.push(waiting);
      void serve();
      return bounded(budgets.emergency, waiting.promise).finally(waiting.leave);
    },
    hold(work) {
      const waiting = waitFor(work);
      calls.push(waiting);
      void serve();
      return waiting.promise;
    },
  };
}

interface Waiting {
  /** Never rejects. */
  run(): Promise<void>;
  reject(fault: unknown): void;
}

function waitFor<T>(task: () => Promise<T>) {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  let isAwaited = true;
  return {
    promise,
    reject,
    run: async (): Promise<void> => {
      if (isAwaited) await task().then(resolve, reject);
    },
    /** It is left out, unless it runs already. */
    leave: (): void => {
      isAwaited = false;
    },
  };
}
