import { type EntityUidJson, preparsePolicySet, statefulIsAuthorized } from "@cedar-policy/cedar-wasm/nodejs";
import { agentManifest, compile, decide, indexPolicy, type PolicyIndex, type PresentState } from "@svc/core";
import { newEnforcer, newModelFromString, StringAdapter } from "casbin";

/** Evaluates the same request over this many rules, one allow for one tool each; each time for the next tool. */
export type Question = () => void;

const turnOf = (count: number): (() => number) => {
  let next = 0;
  return () => {
    next = (next + 1) % count;
    return next;
  };
};

const refuse = (engine: string): never => {
  throw new Error(`${engine} does not allow what it should`);
};

const present: PresentState = {
  session: { expired: false, revoked: false },
  identities: new Map(),
  identityRequired: false,
  blocks: [],
  marks: new Map(),
  otherScopes: [],
};

export function ourQuestion(tools: number): Question {
  const policy = policyOf(tools);
  const targets = Array.from({ length: tools }, (_, tool) => `http:bench/read${tool}`);
  const turn = turnOf(tools);
  return () => {
    const target = targets[turn()] ?? "";
    const hop = {
      hop: 2,
      chain: ["bench-agent"],
      target,
      targetKind: "tool",
      dataClass: "bench",
      narrowedTo: ["bench"],
      tokenTaint: "trusted_internal",
      declaredTaint: undefined,
    } as const;
    if (decide(policy, hop, present).outcome !== "allow") refuse("the verdict function");
  };
}

export function policyOf(tools: number): PolicyIndex {
  const { scopes } = agentManifest.parse({
    scopes: {
      bench: {
        hop_budget: 3,
        tools: Array.from({ length: tools }, (_, tool) => ({ ref: `http:bench/read${tool}`, data_classes: ["bench"] })),
      },
    },
  });
  const declared = scopes.get("bench");
  const compilation = declared && compile("bench", [{ agent: "bench-agent", manifestVersion: 1, declared }]);
  if (!compilation?.ok) throw new Error("the manifest does not compile");
  return indexPolicy({ scope: "bench", version: 1, document: compilation.document });
}

/** Policies are parsed beforehand, as in a server. */
export function cedarQuestion(rules: number): Question {
  const policies = Array.from(
    { length: rules },
    (_, rule) => `permit(principal == Agent::"bench", action == Action::"read", resource == Tool::"read${rule}");`,
  );
  const preparsedPolicySetId = `bench-${rules}`;
  const parsed = preparsePolicySet(preparsedPolicySetId, { staticPolicies: policies.join("\n") });
  if (parsed.type !== "success") throw new Error(`Cedar refuses the policies: ${JSON.stringify(parsed.errors)}`);
  const uid = (type: string, id: string): EntityUidJson => ({ type, id });
  const turn = turnOf(rules);
  return () => {
    const answer = statefulIsAuthorized({
      principal: uid("Agent", "bench"),
      action: uid("Action", "read"),
      resource: uid("Tool", `read${turn()}`),
      context: {},
      preparsedPolicySetId,
      entities: [],
    });
    if (answer.type !== "success" || answer.response.decision !== "allow") refuse("Cedar");
  };
}

const casbinModel = `
[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.sub == p.sub && r.obj == p.obj && r.act == p.act
`;

export async function casbinQuestion(rules: number): Promise<Question> {
  const lines = Array.from({ length: rules }, (_, rule) => `p, bench-agent, read${rule}, read`);
  const enforcer = await newEnforcer(newModelFromString(casbinModel), new StringAdapter(lines.join("\n")));
  const turn = turnOf(rules);
  return () => {
    if (!enforcer.enforceSync("bench-agent", `read${turn()}`, "read")) refuse("casbin");
  };
}
