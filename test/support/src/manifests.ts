import type { Access, GuaranteeLevel, Taint } from "@svc/core";

/** A manifest as sent (docs/reference/manifest.md#the-document). */
export interface ManifestDocument {
  discovery?: object;
  scopes: Record<string, ScopeDocument>;
}

export interface ScopeDocument {
  hop_budget: number;
  entry?: boolean;
  tools?: ToolDocument[];
  downstream_agents?: string[];
}

export interface ToolDocument {
  ref: string;
  data_classes: string[];
  access?: Access;
  privileged?: boolean;
  accepts_taint?: boolean;
  result_taint?: Taint;
  guarantee_level?: GuaranteeLevel;
}

/** A readable tool of one data class, with `changes`. */
export const aTool = (ref: string, changes: Partial<ToolDocument> = {}): ToolDocument => ({
  ref,
  data_classes: ["finance.entries"],
  ...changes,
});

export const aScope = (changes: Partial<ScopeDocument> = {}): ScopeDocument => ({ hop_budget: 4, ...changes });

/** A manifest of one scope without discovery, so it needs an override. */
export const aManifest = (scope: string, changes: Partial<ScopeDocument> = {}): ManifestDocument => ({
  scopes: { [scope]: aScope(changes) },
});

/** The advertisement of an `http` source that matches `manifest`. */
export function capabilitiesOf(manifest: ManifestDocument): { tools: { ref: string }[]; downstream_agents: string[] } {
  const scopes = Object.values(manifest.scopes);
  return {
    tools: scopes.flatMap(({ tools = [] }) =>
      tools.map(({ ref, data_classes, privileged = false, access = "read" }) => ({
        ref,
        data_classes,
        privileged,
        access,
      })),
    ),
    downstream_agents: scopes.flatMap(({ downstream_agents = [] }) => downstream_agents),
  };
}
