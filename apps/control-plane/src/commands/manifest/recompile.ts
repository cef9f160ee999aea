import {
  type AgentManifest,
  agentManifest,
  compile,
  decodePolicyDocument,
  grantsTheSame,
  type PolicyDocument,
  policySchemaVersion,
  type ScopeDeclaration,
} from "@svc/core";
import type { AcceptedManifest, ManifestSubmission, StoredPolicy } from "../../ports/manifests.ts";

/** A scope has too many delegation paths. Thrown, so that the whole submission is undone. */
export class PolicyTooLarge extends Error {
  readonly scope: string;
  readonly branchingAgents: readonly string[];

  constructor(scope: string, branchingAgents: readonly string[]) {
    super("a scope has too many delegation paths");
    this.scope = scope;
    this.branchingAgents = branchingAgents;
  }
}

/**
 * Compiles the locked scopes and adds a version of each policy that changed
 * (docs/reference/manifest.md#the-compiled-policy).
 */
export async function recompile(
  submission: ManifestSubmission,
  scopes: readonly string[],
  createdAtMs: number,
): Promise<void> {
  const accepted = (await submission.acceptedManifests(scopes)).map(decodeManifest);
  const latest = await submission.latestPolicies(scopes);
  for (const scope of scopes) {
    const document = compileScope(scope, accepted);
    const known = latest.get(scope);
    if (known !== undefined && isUnchanged(known, document)) continue;
    await submission.addPolicy({ document, version: (known?.version ?? 0) + 1, createdAtMs });
  }
}

export interface DecodedManifest extends Omit<AcceptedManifest, "doc"> {
  readonly manifest: AgentManifest;
}

/** @throws {PolicyTooLarge} */
export function compileScope(scope: string, accepted: readonly DecodedManifest[]): PolicyDocument {
  const compilation = compile(scope, accepted.flatMap(declarationsUnder(scope)));
  if (!compilation.ok) throw new PolicyTooLarge(scope, compilation.branchingAgents);
  return compilation.document;
}

export const decodeManifest = ({ agent, version, doc, definitions }: AcceptedManifest): DecodedManifest => ({
  agent,
  version,
  definitions,
  manifest: agentManifest.parse(JSON.parse(doc)),
});

const declarationsUnder =
  (scope: string) =>
  ({ agent, version, manifest, definitions }: DecodedManifest): readonly ScopeDeclaration[] => {
    const declared = manifest.scopes.get(scope);
    return declared === undefined ? [] : [{ agent, manifestVersion: version, declared, definitions }];
  };

/** A row of an older schema counts as changed, since a resubmission must recompile it. */
const isUnchanged = ({ schemaVersion, text }: StoredPolicy, document: PolicyDocument): boolean =>
  schemaVersion === policySchemaVersion && grantsTheSame(decodePolicyDocument(text), document);
