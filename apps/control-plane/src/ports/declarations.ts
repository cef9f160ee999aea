import type { DiffEntry, ManifestStatus } from "@svc/core";

/** What agents declared and what was made of it, for people who read through it. */
export interface Declarations {
  /** The newest policy of each scope, by name; those behind `after` only. */
  scopes(query: ScopeQuery): Promise<readonly ScopeSummary[]>;
  /** Every version that an agent submitted, newest first; those older than `before` only. */
  versions(query: VersionQuery): Promise<readonly SubmittedVersion[]>;
  /** By agent: the latest accepted manifest, as it was submitted, of those agents that have one. */
  accepted(agents: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

export interface ScopeQuery {
  readonly after: string | undefined;
  readonly limit: number;
}

export interface ScopeSummary {
  readonly scope: string;
  readonly version: number;
  readonly schemaVersion: number;
  readonly compiledAtMs: number;
}

export interface VersionQuery {
  readonly agentId: string;
  readonly before: number | undefined;
  readonly limit: number;
}

export interface SubmittedVersion {
  readonly version: number;
  readonly status: ManifestStatus;
  readonly attestedBy: string | null;
  readonly attestationReason: string | null;
  /** As submitted, byte for byte. */
  readonly doc: string;
  readonly createdAtMs: number;
  readonly discoveryOk: boolean;
  readonly diff: readonly DiffEntry[];
}
