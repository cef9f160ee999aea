import type { AgentManifestDocument } from "@svc/core";

/** Manifests in wire form, by agent name. */
export type Manifests = Readonly<Record<string, AgentManifestDocument>>;

interface ToolFacts {
  readonly access?: "read" | "write";
  readonly privileged?: boolean;
  readonly accepts_taint?: boolean;
  readonly result_taint?: "trusted_internal" | "untrusted_external";
  readonly guarantee_level?: "full" | "connector" | "network" | "consent_only";
}

/** One element of `tools`; data classes are written as one space-separated text. */
export const tool = (ref: string, dataClasses: string, facts: ToolFacts = {}) => ({
  ref,
  data_classes: dataClasses.split(" "),
  ...facts,
});

interface ScopeMembers {
  readonly tools?: readonly ReturnType<typeof tool>[];
  readonly downstream_agents?: readonly string[];
  readonly entry?: boolean;
}

/** One agent that declares under a single scope. */
export const agent = (scope: string, hopBudget: number, members: ScopeMembers = {}): AgentManifestDocument => ({
  scopes: { [scope]: { hop_budget: hopBudget, ...members } },
});

/** One agent that declares under several scopes: those of each part. */
export const acrossScopes = (...parts: readonly AgentManifestDocument[]): AgentManifestDocument => ({
  scopes: Object.assign({}, ...parts.map(({ scopes }) => scopes)),
});
