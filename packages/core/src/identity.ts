/** States of an agent's identity (docs/reference/identity.md#statuses). One that never enrolled reads as `none`. */
export const identityStatuses = ["none", "enrolled", "quarantined", "revoked"] as const;
export type IdentityStatus = (typeof identityStatuses)[number];

/** Why an enrollment ended in quarantine, in the order they are checked (docs/reference/identity.md#quarantine). */
export const quarantineReasons = ["NO_PRINCIPAL", "NO_IDENTITY_PROVIDER", "PRINCIPAL_INVALID", "KEY_IN_USE"] as const;
export type QuarantineReason = (typeof quarantineReasons)[number];
