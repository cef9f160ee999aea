const caep = (name: string) => `https://schemas.openid.net/secevent/caep/event-type/${name}` as const;
const risc = (name: string) => `https://schemas.openid.net/secevent/risc/event-type/${name}` as const;
const ssf = (name: string) => `https://schemas.openid.net/secevent/ssf/event-type/${name}` as const;

/** Security events (OpenID CAEP 1.0, RISC 1.0, Shared Signals Framework 1.0) that mean something here. */
export const eventTypes = {
  sessionRevoked: caep("session-revoked"),
  credentialChange: caep("credential-change"),
  accountDisabled: risc("account-disabled"),
  accountEnabled: risc("account-enabled"),
  accountPurged: risc("account-purged"),
  credentialCompromise: risc("credential-compromise"),
  /** Deprecated by RISC in favour of CAEP's. */
  sessionsRevoked: risc("sessions-revoked"),
  verification: ssf("verification"),
  streamUpdated: ssf("stream-updated"),
} as const;

/** Other events of these specifications, which change nothing here. */
export const inconsequentialEvents: ReadonlySet<string> = new Set([
  ...["token-claims-change", "assurance-level-change", "device-compliance-change"].map(caep),
  ...["session-established", "session-presented", "risk-level-change"].map(caep),
  ...["account-credential-change-required", "identifier-changed", "identifier-recycled"].map(risc),
  ...["opt-in", "opt-out-initiated", "opt-out-cancelled", "opt-out-effective"].map(risc),
  ...["recovery-activated", "recovery-information-changed"].map(risc),
]);

/** `change_type` of CAEP's credential-change. */
export const credentialChanges = ["create", "revoke", "update", "delete"] as const;

/** Error codes of RFC 8935 section 2.4. */
export const setErrors = ["invalid_request", "invalid_key", "invalid_issuer", "invalid_audience"] as const;
export type SetError = (typeof setErrors)[number];
