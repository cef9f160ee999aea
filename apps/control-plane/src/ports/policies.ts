import type { PolicyIndex } from "@svc/core";

export interface Policies {
  /** One version of a scope's policy. It never changes, so it is read once. Undefined if it is not stored. */
  pinned(scope: string, version: number): Promise<PolicyIndex | undefined>;
  /** The newest version, read at every call; undefined if none was compiled. */
  latest(scope: string): Promise<LatestPolicy | undefined>;
  /** The newest versions of every scope in these agents' accepted manifests. */
  currentOf(agents: readonly string[]): Promise<readonly PolicyIndex[]>;
}

export interface LatestPolicy {
  readonly version: number;
  /** The schema version of its row. Only a row of the current one can be read. */
  readonly schemaVersion: number;
}
