/**
 * Time budgets of the apps under test, in milliseconds. A healthy peer can take longer than a second on a busy machine,
 * and the test would see an outage that it did not cause. Only a peer that never responds uses them up.
 */
export const patience = {
  controlPlane: {
    statement: 20_000,
    commit: 20_000,
    read: 20_000,
    emergency: 60_000,
    submit: 120_000,
    submitStep: 60_000,
    auditRead: 20_000,
    probe: 20_000,
    lock: 20_000,
    connect: 20_000,
    replayGuard: 20_000,
    rateLimit: 20_000,
    readiness: 20_000,
    identityProvider: 20_000,
  },
  enforcementPoint: { stepMs: 30_000, hopMs: 60_000 },
  clientSeconds: 60,
};

export type Budgets = typeof patience.controlPlane & typeof patience.enforcementPoint;

/** In the environment of an app: some of its budgets, where a peer never responds and the budget ends the call. */
export const budgets = (some: Partial<Budgets>) => ({ TEST_BUDGETS: JSON.stringify(some) });

/** In the environment of an app: it keeps all of its own budgets. */
export const ownBudgets = { TEST_BUDGETS: "own" } as const;
