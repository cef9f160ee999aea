import type { PolicyIndex } from "@svc/core";

export interface Policies {
  /** The policy a session pinned. Immutable, so served from memory once read. */
  pinned(scope: string, version: number): Promise<PolicyIndex | undefined>;
  /** The newest version of a scope, with the schema version its row was written under. */
  current(scope: string): Promise<CurrentPolicy | undefined>;
  /** The newest versions of every scope that any of these agents' accepted manifests touch. */
  currentOf(agents: readonly string[]): Promise<readonly PolicyIndex[]>;
}

export interface CurrentPolicy {
  readonly index: PolicyIndex;
  readonly schemaVersion: number;
}
