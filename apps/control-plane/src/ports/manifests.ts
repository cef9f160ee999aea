import type { DiffEntry, ManifestStatus, PolicyDocument } from "@svc/core";
import type { NewEvent } from "./administrative-event.ts";

export interface ManifestSubmissions {
  /**
   * Runs `work` in one transaction while no other submission of this agent runs. An error of `work` undoes all of it
   * and is thrown.
   */
  submit<T>(agent: string, work: (submission: ManifestSubmission) => Promise<T>): Promise<T>;
}

export interface Manifests {
  agentId(name: string): Promise<string | undefined>;
  /** By name. */
  listAgents(query: AgentQuery): Promise<readonly AgentSummary[]>;
  /** The latest reconciliation of an agent. */
  report(agentId: string): Promise<StoredReport | undefined>;
  /** The newest version that touches the scope and matches; an accepted one unless a version is given. */
  find(query: ManifestQuery): Promise<StoredManifest | undefined>;
}

/** Reads and writes under the agent's lock. */
export interface ManifestSubmission {
  /** Undefined before its registration. */
  readonly agent: RegisteredAgent | undefined;
  /** Keeps other submissions from these scopes. Call it once, before any claim. */
  lockScopes(scopes: readonly string[]): Promise<void>;
  /** Claims all names, or none: then it returns those that are claimed as the other kind. */
  claimNames(claims: readonly NameClaim[]): Promise<readonly NameClaim[]>;
  addAgent(agent: { readonly agentId: string; readonly name: string; readonly createdAtMs: number }): Promise<void>;
  addVersion(version: NewManifestVersion): Promise<void>;
  addReport(report: NewReport): Promise<void>;
  /** The latest accepted manifest of each agent with a version that touches one of the scopes. */
  acceptedManifests(scopes: readonly string[]): Promise<readonly AcceptedManifest[]>;
  /** By scope. */
  latestPolicies(scopes: readonly string[]): Promise<ReadonlyMap<string, StoredPolicy>>;
  addPolicy(policy: NewPolicy): Promise<void>;
  addEvent(event: NewEvent): Promise<void>;
}

export interface RegisteredAgent {
  readonly agentId: string;
  readonly latestVersion: number;
  /** Scopes of its latest accepted version. */
  readonly acceptedScopes: readonly string[];
}

export interface NameClaim {
  readonly name: string;
  readonly kind: "agent" | "tool";
}

export interface NewManifestVersion {
  readonly agentId: string;
  readonly version: number;
  readonly status: ManifestStatus;
  readonly attestedBy: string | null;
  readonly attestationReason: string | null;
  /** Byte for byte as it was submitted. */
  readonly doc: string;
  readonly scopes: readonly string[];
  readonly createdAtMs: number;
}

export interface NewReport {
  readonly reportId: string;
  readonly agentName: string;
  /** Null for a refused first registration. */
  readonly agentId: string | null;
  readonly manifestVersion: number | null;
  readonly status: ManifestStatus;
  readonly discoveryOk: boolean;
  readonly diff: readonly DiffEntry[];
  readonly checkedAtMs: number;
}

export interface AcceptedManifest {
  readonly agent: string;
  readonly version: number;
  readonly doc: string;
}

export interface StoredPolicy {
  readonly version: number;
  readonly schemaVersion: number;
  readonly text: string;
}

export interface NewPolicy {
  readonly document: PolicyDocument;
  readonly version: number;
  readonly createdAtMs: number;
}

export interface AgentQuery {
  readonly status: ManifestStatus | undefined;
  readonly afterName: string | undefined;
  readonly limit: number;
}

export interface AgentSummary {
  readonly agentId: string;
  readonly name: string;
  readonly latestVersion: number;
  readonly latestStatus: ManifestStatus;
}

export interface StoredReport {
  readonly manifestVersion: number;
  readonly status: ManifestStatus;
  readonly discoveryOk: boolean;
  readonly diff: readonly DiffEntry[];
  /** Of a person, in place of discovery. */
  readonly attestation: { readonly by: string; readonly reason: string | null } | null;
  readonly checkedAtMs: number;
}

export interface ManifestQuery {
  readonly scope: string;
  readonly version: number | undefined;
  readonly agent: string | undefined;
}

export interface StoredManifest {
  readonly agent: string;
  readonly version: number;
  readonly status: ManifestStatus;
  readonly attestedBy: string | null;
  /** Byte for byte as it was submitted. */
  readonly doc: string;
  readonly createdAtMs: number;
}
