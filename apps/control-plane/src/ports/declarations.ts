import type { DiffEntry, ManifestStatus } from "@svc/core";

/** Manifests and policies for people who read them. */
export interface Declarations {
  /** The newest policy of each scope, by name. */
  scopes(query: ScopeQuery): Promise<readonly ScopeSummary[]>;
  /** Every version of an agent, newest first. */
  versions(query: VersionQuery): Promise<readonly SubmittedVersion[]>;
  /** The latest accepted manifest of each agent that has one, as it was submitted. */
  accepted(agents: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

export interface ScopeQuery {
  /** Exclusive. */
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
  /** Exclusive. */
  readonly before: number | undefined;
  readonly limit: number;
}

export interface SubmittedVersion {
  readonly version: number;
  readonly status: ManifestStatus;
  readonly attestedBy: string | null;
  readonly attestationReason: string | null;
  /** Byte for byte as it was submitted. */
  readonly doc: string;
  readonly createdAtMs: number;
  readonly discoveryOk: boolean;
  readonly diff: readonly DiffEntry[];
}
