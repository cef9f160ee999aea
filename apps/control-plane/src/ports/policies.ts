import type { PolicyIndex } from "@svc/core";

export interface Policies {
  /** One version of a scope's policy. Immutable, so served from memory once read; undefined where there is none. */
  pinned(scope: string, version: number): Promise<PolicyIndex | undefined>;
  /** The newest version of a scope, read at the moment of asking; undefined where none was ever compiled. */
  latest(scope: string): Promise<LatestPolicy | undefined>;
  /** The newest versions of every scope that any of these agents' accepted manifests touch. */
  currentOf(agents: readonly string[]): Promise<readonly PolicyIndex[]>;
}

export interface LatestPolicy {
  readonly version: number;
  /** The schema version its row was written under: one that is not today's cannot be read. */
  readonly schemaVersion: number;
}
