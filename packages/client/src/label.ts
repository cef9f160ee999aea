import { type AgentManifestDocument, agentManifest, highestTaint, mcpServerRef, type Taint } from "@svc/core";

/** A value and its taint (docs/reference/client.md#value-objects). */
export interface LabeledResult<Value> {
  readonly value: Value;
  /** Pass it as `taint` of every call that uses the value: it raises taint, never lowers it. */
  readonly provenance: Taint;
}

/**
 * The highest taint of a tool over the scopes; of a whole MCP server, that of its tools
 * (docs/reference/manifest.md#mcp-servers).
 * @throws {TypeError} where it is no manifest
 */
export function resultTaints(document: AgentManifestDocument): ReadonlyMap<string, Taint> {
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
