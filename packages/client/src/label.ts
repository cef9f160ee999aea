import {
  type AgentManifestDocument,
  agentManifest,
  classifySource,
  highestTaint,
  mcpServerRef,
  type Taint,
} from "@svc/core";

/** A value and what it counts as (specification: Client value objects). */
export interface LabeledResult<Value> {
  readonly value: Value;
  /** Pass it as `taint` to whatever is done with the value: it raises, never lowers. */
  readonly provenance: Taint;
}

export interface Labeler {
  wrapResult<Value>(value: Value, sourceRef: string, trustedSources?: readonly string[]): LabeledResult<Value>;
  useManifest(manifest: AgentManifestDocument): void;
}

/** Labels by the caller's list of trusted sources, until a manifest says what the decision point makes of a source. */
export function createLabeler(): Labeler {
  let declared: ReadonlyMap<string, Taint> = new Map();
  return {
    wrapResult: (value, sourceRef, trustedSources = []) => ({
      value,
      // A declared tool is what its manifest says: no list of a caller makes its results any cleaner.
      provenance: declared.get(sourceRef) ?? classifySource(sourceRef, trustedSources),
    }),
    useManifest(manifest) {
      declared = resultTaints(manifest);
    },
  };
}

/** The highest taint of a tool over the scopes; of a whole MCP server, that of its tools (contract: Compiler). */
function resultTaints(document: AgentManifestDocument): ReadonlyMap<string, Taint> {
  const { data: manifest, error } = agentManifest.safeParse(document);
  if (!manifest) throw new TypeError("not a manifest", { cause: error });
  const taints = new Map<string, Taint>();
  for (const { tools } of manifest.scopes.values()) {
    for (const { ref, resultTaint } of tools) {
      for (const each of new Set([ref, mcpServerRef(ref) ?? ref])) {
        taints.set(each, highestTaint(resultTaint, taints.get(each) ?? resultTaint));
      }
    }
  }
  return taints;
}
