import type { DiffEntry, ManifestStatus, PolicyDocument } from "@svc/core";
import type { AdministrativeEvent } from "./administrative-event.ts";

export interface Manifests {
  /**
   * Runs `work` in one transaction, all or nothing, while no other submission of this agent runs anywhere. What `work`
   * throws undoes all of it and is thrown on.
   */
  submit<T>(agent: string, work: (submission: ManifestSubmission) => Promise<T>): Promise<T>;
  agentId(name: string): Promise<string | undefined>;
  /** By name, each after the one the page before ended with. */
  listAgents(query: AgentQuery): Promise<readonly AgentSummary[]>;
  /** The most recent reconciliation of an agent. */
  report(agentId: string): Promise<StoredReport | undefined>;
  /** The newest manifest version that touches the scope and matches; accepted ones only where no version is pinned. */
  find(query: ManifestQuery): Promise<StoredManifest | undefined>;
}

/** What a submission reads and writes, under the agent's lock. */
export interface ManifestSubmission {
  /** Undefined where it never registered. */
  readonly agent: RegisteredAgent | undefined;
  /** From here on no other submission that touches any of these scopes compiles or reads them. Once, before any claim. */
  lockScopes(scopes: readonly string[]): Promise<void>;
  /** Claims all of the names, or none and answers those that stand claimed as the other kind. */
  claimNames(claims: readonly NameClaim[]): Promise<readonly NameClaim[]>;
  addAgent(agent: { readonly agentId: string; readonly name: string; readonly createdAtMs: number }): Promise<void>;
  addVersion(version: NewManifestVersion): Promise<void>;
  addReport(report: NewReport): Promise<void>;
  /** The latest accepted manifest of each agent that has any version touching one of the scopes. */
  acceptedManifests(scopes: readonly string[]): Promise<readonly AcceptedManifest[]>;
  /** By scope. */
  latestPolicies(scopes: readonly string[]): Promise<ReadonlyMap<string, StoredPolicy>>;
  addPolicy(policy: NewPolicy): Promise<void>;
  addEvent(event: AdministrativeEvent): Promise<void>;
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
  /** The manifest's text exactly as submitted. */
  readonly doc: string;
  readonly scopes: readonly string[];
  readonly createdAtMs: number;
}

export interface NewReport {
  readonly reportId: string;
  readonly agentName: string;
  /** Null for a refused first registration, which has neither agent nor version. */
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
  /** A person's word in place of discovery's. */
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
  /** As submitted, byte for byte. */
  readonly doc: string;
  readonly createdAtMs: number;
}
