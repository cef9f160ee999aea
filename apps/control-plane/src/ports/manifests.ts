import type {
  AcceptedNames,
  AgentSummary,
  agentsQuery,
  ChangedDefinition,
  DefinitionChange,
  Definitions,
  DiscoverySource,
  Filter,
  ManifestVersion,
  manifestQuery,
  NamesOnRecord,
  PolicyDocument,
  PolicyIndex,
  ReconciledVersion,
  Row,
  reconciliationReport,
  SourceAnswer,
  ToolDefinition,
} from "@svc/core";
import type { NewEvent } from "./administrative-event.ts";
import type { Paged } from "./audit-reads.ts";

export interface Manifests {
  agentId(name: string): Promise<string | undefined>;
  /** Of every registered agent. */
  agentNames(): Promise<readonly string[]>;
  /** The kept canonical forms of these hashes; one that is not the text of its hash is left out. */
  definitionTexts(hashes: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** By name. */
  listAgents(query: AgentQuery): Promise<readonly AgentSummary[]>;
  /** The latest reconciliation of an agent. */
  report(agentId: string): Promise<StoredReport | undefined>;
  /** The newest accepted version that touches the scope; of a given version each agent's, but none that was rejected. */
  find(query: ManifestQuery): Promise<readonly StoredManifest[]>;
  /** The scopes of an agent's accepted manifest; empty without one. */
  acceptedScopes(agent: string): Promise<readonly string[]>;
  /**
   * The latest accepted manifest of each agent with a version that touches one of the scopes.
   * @throws {AuthorityUnproven}
   */
  accepted(scopes: readonly string[]): Promise<readonly AcceptedManifest[]>;
  /** Runs `work` in one transaction, one submission of an agent at a time. An error of `work` undoes all of it. */
  submit<T>(agent: string, work: (submission: ManifestSubmission) => Promise<T>): Promise<T>;
}

/** What each source advertises, or the reason for no answer. Never throws; resolves within 5 s. */
export type Discover = (sources: readonly DiscoverySource[]) => Promise<readonly SourceAnswer[]>;

/** Reads and writes under the agent's lock. */
export interface ManifestSubmission {
  /** Undefined before its registration. */
  readonly agent: RegisteredAgent | undefined;
  /** Keeps other submissions from these scopes. Call it once, before any claim. */
  lockScopes(scopes: readonly string[]): Promise<void>;
  /** Claims all names, or none: then it returns those that are claimed as the other kind. */
  claimNames(claims: readonly NameClaim[]): Promise<readonly NameClaim[]>;
  /** What was accepted for these tools and their servers; until the end no other submission changes it. */
  namesOnRecord(refs: readonly string[]): Promise<NamesOnRecord>;
  /** Adds what is new. */
  addToRecord(accepted: AcceptedNames, atMs: number): Promise<void>;
  addAgent(agent: { readonly agentId: string; readonly name: string; readonly createdAtMs: number }): Promise<void>;
  addVersion(version: NewManifestVersion): Promise<void>;
  /** Keeps the texts of definitions that are new. */
  addDefinitions(definitions: Iterable<ToolDefinition>, atMs: number): Promise<void>;
  /** Changes with the kept texts. */
  withTexts(changes: readonly DefinitionChange[]): Promise<readonly ChangedDefinition[]>;
  addReport(report: NewReport): Promise<void>;
  /** The same as `accepted`, under the locks. */
  acceptedManifests(scopes: readonly string[]): Promise<readonly AcceptedManifest[]>;
  /** By scope. One that is unproven has a schema version of its own, so that it is compiled again. */
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

export interface NewManifestVersion extends ManifestVersion {
  readonly agentId: string;
  readonly scopes: readonly string[];
  readonly definitions: Definitions;
}

export interface NewReport extends Pick<ReconciledVersion, "status" | "discoveryOk" | "diff" | "discovery"> {
  readonly reportId: string;
  readonly agentName: string;
  /** Null for a refused first registration. */
  readonly agentId: string | null;
  readonly manifestVersion: number | null;
  readonly definitions: readonly DefinitionChange[];
  readonly checkedAtMs: number;
}

export interface AcceptedManifest extends Pick<StoredManifest, "agent" | "version" | "doc"> {
  readonly definitions: Definitions;
}

/** What is stored was not stored by this service, so it has no authority. */
export class AuthorityUnproven extends Error {
  readonly code = "database_unavailable";

  constructor(what: string) {
    super(
      `${what} is not this service's: find out who wrote it, and submit the manifests of its agents again; restore ` +
        "SVC_KEY_ENCRYPTION_KEY if it was changed",
    );
  }
}

export interface Policies {
  /**
   * One version of a scope's policy. It never changes, so it is read once. Undefined if it is not stored.
   * @throws {AuthorityUnproven}
   */
  pinned(scope: string, version: number): Promise<PolicyIndex | undefined>;
  /** base64url(SHA-256) of its document, as it was read. */
  documentHash(scope: string, version: number): Promise<string | undefined>;
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

export interface StoredPolicy extends LatestPolicy {
  readonly text: string;
}

export interface NewPolicy {
  readonly document: PolicyDocument;
  readonly version: number;
  readonly createdAtMs: number;
}

export type AgentQuery = Filter<typeof agentsQuery> & Paged<string>;

export type StoredReport = Row<typeof reconciliationReport, "checkedAt">;

export type ManifestQuery = Filter<typeof manifestQuery> & { readonly scope: string };

export interface StoredManifest extends Omit<ManifestVersion, "attestationReason"> {
  readonly agent: string;
}
