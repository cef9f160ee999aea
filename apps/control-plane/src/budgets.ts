/** In milliseconds. Those of a hop lie within the second that its caller waits. */
export const budgets = {
  statement: 800,
  commit: 900,
  read: 900,
  /** For a revocation, a block, an end of a session or a key, with those that are before it. */
  emergency: 10_000,
  submit: 20_000,
  /** For each statement of a submission, the wait for its locks included. */
  submitStep: 10_000,
  auditRead: 4_000,
  probe: 900,
  /** For a statement to get a lock. */
  lock: 300,
  /** For a connection to the database, in whole seconds. */
  connect: 2_000,
  replayGuard: 150,
  rateLimit: 100,
  /** For all probes of one readiness check. */
  readiness: 1_000,
  /** For each of metadata and key set. */
  identityProvider: 2_000,
};
