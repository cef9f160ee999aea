import {
  agentManifest,
  agentName,
  compile,
  indexPolicy,
  type PolicyIndex,
  quoted,
  type ScopeDeclaration,
} from "@svc/core";
import { z } from "zod";
import type { DriftError, DriftErrorKind } from "./drift-report.ts";

/** One agent's manifest as it is submitted: the body of `POST /v1/manifests`. */
export interface DriftManifest {
  readonly agent: string;
  /** In wire form; read with the schema of the control plane. */
  readonly manifest: unknown;
  /** Its path, for reports. */
  readonly file?: string;
}

/** What a set of manifests allows, compiled as the control plane would. */
export interface DeclaredPolicies {
  /** Of a scope that no manifest touches: one that allows nothing. */
  policyOf(scope: string): PolicyIndex;
  /** The other scopes whose consent might admit a call of these agents. */
  otherScopesOf(agents: readonly string[], scope: string): readonly PolicyIndex[];
  readonly scopes: readonly PolicyIndex[];
  /** The file of an agent's manifest, where it is known. */
  fileOf(agent: string): string | undefined;
}

export type PoliciesReading =
  | { readonly ok: true; readonly policies: DeclaredPolicies }
  | { readonly ok: false; readonly errors: readonly DriftError[] };

/** Reads and compiles the manifests; one invalid manifest makes every verdict on them worthless. */
export function readPolicies(manifests: readonly DriftManifest[]): PoliciesReading {
  const errors: DriftError[] = [];
  const declared = manifests.flatMap((one, index) => readManifest(one, manifests.slice(0, index), errors));
  const scopes = [...scopesOf(declared)].flatMap((scope) => compiledScope(scope, declared, errors));
  return errors.length > 0 ? { ok: false, errors } : { ok: true, policies: toPolicies(scopes, declared, manifests) };
}

const submission = z.object({ agent: agentName, manifest: agentManifest });
type Declared = Readonly<z.output<typeof submission>>;

/** The manifest; none, and an error, where it is invalid. */
function readManifest(
  { agent, manifest, file }: DriftManifest,
  before: readonly DriftManifest[],
  errors: DriftError[],
): readonly Declared[] {
  const refuse = (kind: DriftErrorKind, message: string) => {
    errors.push({ kind, message, ...(file !== undefined && { file }) });
    return [];
  };
  const { data, error } = submission.safeParse({ agent, manifest });
  if (error) {
    const [issue] = error.issues;
    return refuse(
      "manifest_invalid",
      `the manifest of ${JSON.stringify(agent)} is invalid: ${issue?.path.join(".")}: ${issue?.message}`,
    );
  }
  if (before.some((other) => other.agent === agent)) {
    return refuse("manifest_repeated", `${JSON.stringify(agent)} has two manifests, and one of them is not in force`);
  }
  return [data];
}

const scopesOf = (declared: readonly Declared[]): ReadonlySet<string> =>
  new Set(declared.flatMap(({ manifest }) => [...manifest.scopes.keys()]));

function compiledScope(scope: string, declared: readonly Declared[], errors: DriftError[]): readonly PolicyIndex[] {
  const declarations = declared.flatMap(({ agent, manifest }): ScopeDeclaration[] => {
    const inScope = manifest.scopes.get(scope);
    return inScope ? [{ agent, manifestVersion: 1, declared: inScope }] : [];
  });
  const compilation = compile(scope, declarations);
  if (compilation.ok) return [indexPolicy({ scope, version: 1, document: compilation.document })];
  const agents = compilation.branchingAgents.map(quoted).join(", ");
  const message = `scope ${quoted(scope)} would have more than 10,000 delegation paths, through ${agents}`;
  errors.push({ kind: "policy_too_large", message });
  return [];
}

function toPolicies(
  scopes: readonly PolicyIndex[],
  declared: readonly Declared[],
  manifests: readonly DriftManifest[],
): DeclaredPolicies {
  const byScope = new Map(scopes.map((index) => [index.scope, index]));
  const touched = new Map(declared.map(({ agent, manifest }) => [agent, [...manifest.scopes.keys()]]));
  const files = new Map(manifests.map(({ agent, file }) => [agent, file]));
  return {
    scopes,
    policyOf(scope) {
      const index = byScope.get(scope) ?? emptyPolicy(scope);
      byScope.set(scope, index);
      return index;
    },
    otherScopesOf: (agents, scope) => {
      const names = new Set(agents.flatMap((agent) => touched.get(agent) ?? []));
      return scopes.filter((index) => index.scope !== scope && names.has(index.scope));
    },
    fileOf: (agent) => files.get(agent),
  };
}

function emptyPolicy(scope: string): PolicyIndex {
  const compilation = compile(scope, []);
  if (!compilation.ok) throw new Error("no declarations make no paths");
  return indexPolicy({ scope, version: 1, document: compilation.document });
}
