/** A decision that could not be committed: it must not be told (specification: a call without a record is refused). */
export class AuditUnavailable extends Error {
  readonly code = "audit_unavailable";
}

/** The single use could not be decided now; nothing was issued. */
export class SpendUnavailable extends Error {
  readonly code = "guard_unavailable";
}

/** A session's policy row is gone: only damage to the database can cause it. */
export class PolicyMissing extends Error {}
