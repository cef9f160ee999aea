/** A decision could not be committed, so it must not be returned (docs/reference/routes.md#authorize). */
export class AuditUnavailable extends Error {
  readonly code = "audit_unavailable";
}

/** The single use could not be decided; no token was issued. */
export class SpendUnavailable extends Error {
  readonly code = "guard_unavailable";
}

/** A session's policy row is missing, which only damage to the database can cause. */
export class PolicyMissing extends Error {}
