import {
  type AgentManifest,
  agentManifest,
  type ChainMember,
  compile,
  type HopRequest,
  indexPolicy,
  type MarkSource,
  type PolicyIndex,
  type PresentState,
} from "@svc/core";
import type { Manifests } from "./manifest.ts";
import type { DecisionVector, PresentFacts } from "./vector.ts";

/** The arguments of `decide`, made from a row by the real schema and compiler. */
export interface Question {
  readonly policy: PolicyIndex;
  readonly hop: HopRequest;
  readonly present: PresentState;
}

export function toQuestion(vector: DecisionVector): Question {
  const registered = parseAll(vector.manifests);
  const policy = policyOf(vector.scope, registered);
  const caller = vector.chain.at(-1);
  const widest = caller === undefined ? undefined : policy.agents.get(caller)?.reachableClasses;
  const hop: HopRequest = {
    hop: vector.hop ?? vector.chain.length + 1,
    chain: vector.chain,
    target: vector.target,
    targetKind: vector.targetKind,
    dataClass: vector.dataClass,
    narrowedTo: vector.narrowedTo ?? widest,
    tokenTaint: vector.tokenTaint ?? "trusted_internal",
    declaredTaint: vector.declaredTaint,
  };
  const otherScopes = otherScopesOf(vector, policy, registered).map((scope) => policyOf(scope, registered));
  return { policy, hop, present: { ...presentState(vector.present ?? {}), otherScopes } };
}

type Registered = ReadonlyMap<string, AgentManifest>;

const parseAll = (manifests: Manifests): Registered =>
  new Map(Object.entries(manifests).map(([name, document]) => [name, agentManifest.parse(document)]));

/** All first versions: no row depends on a version number. */
export function policyOf(scope: string, registered: Registered): PolicyIndex {
  const declarations = [...registered].flatMap(([agent, manifest]) => {
    const declared = manifest.scopes.get(scope);
    return declared === undefined ? [] : [{ agent, manifestVersion: 1, declared }];
  });
  const compilation = compile(scope, declarations);
  if (!compilation.ok) throw new Error(`the manifests of a row compile; "${scope}" has too many paths`);
  return indexPolicy({ scope, version: 1, document: compilation.document });
}

/** The other scopes of the caller; where the person calls, those of this scope's entry agents. */
function otherScopesOf(vector: DecisionVector, policy: PolicyIndex, registered: Registered): readonly string[] {
  const caller = vector.chain.at(-1);
  const agents = caller === undefined ? [...policy.human.downstream] : [caller];
  const scopes = agents.flatMap((agent) => [...(registered.get(agent)?.scopes.keys() ?? [])]);
  return [...new Set(scopes)].filter((scope) => scope !== vector.scope);
}

function presentState(facts: PresentFacts): Omit<PresentState, "otherScopes"> {
  const marks = new Map<ChainMember, MarkSource>(Object.entries(facts.marks ?? {}));
  if (facts.humanMark !== undefined) marks.set(null, facts.humanMark);
  return {
    session: {
      expired: facts.session === "expired" || facts.session === "expired and revoked",
      revoked: facts.session === "revoked" || facts.session === "expired and revoked",
    },
    identities: new Map(Object.entries(facts.identities ?? {})),
    identityRequired: facts.identityRequired ?? false,
    blocks: facts.blocks ?? [],
    marks,
  };
}
