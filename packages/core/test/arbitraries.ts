import fc from "fast-check";
import { compile, type ScopeDeclaration } from "../src/compile.ts";
import type { Block, PresentState } from "../src/decide.ts";
import type { HopRequest } from "../src/hop.ts";
import { accessKinds, type ChainMember, guaranteeLevels, identityStatuses, taints, targetKinds } from "../src/kinds.ts";
import { agentManifest } from "../src/manifest.ts";
import { indexPolicy, type PolicyIndex } from "../src/policy-index.ts";

/** Small worlds: few names, so that what is generated meets. Two of the names are odd as members of an object. */
export const agents = ["alpha", "beta", "gamma", "delta", "10", "constructor"] as const;
const refs = [
  "http:ledger/read",
  "http:ledger/post",
  "mcp:files/read",
  "mcp:files#roots/list",
  "mcp:web/fetch",
] as const;
const classes = ["finance", "finance.entries", "financeX", "crm", "protocol"] as const;
export const targets = [...agents, ...refs, "mcp:files", "mcp:web", "nobody"] as const;

export const dataClassName = fc
  .array(fc.constantFrom("a", "b", "ab"), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.join("."));
export const taint = fc.constantFrom(...taints);
const mostlyTrusted = fc.oneof({ weight: 4, arbitrary: fc.constant("trusted_internal" as const) }, taint);
export const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

const someOf = <T>(items: readonly T[], maxLength = items.length) => fc.shuffledSubarray([...items], { maxLength });

const tool = (ref: string) =>
  fc.record(
    {
      ref: fc.constant(ref),
      data_classes: fc.shuffledSubarray([...classes], { minLength: 1, maxLength: 2 }),
      access: fc.constantFrom(...accessKinds),
      privileged: fc.boolean(),
      accepts_taint: fc.boolean(),
      result_taint: taint,
      guarantee_level: fc.constantFrom(...guaranteeLevels),
    },
    { requiredKeys: ["ref", "data_classes"] },
  );

const wireScope = fc.record(
  {
    hop_budget: fc.integer({ min: 1, max: 6 }),
    entry: fc.boolean(),
    tools: someOf(refs, 3).chain((chosen) => fc.tuple(...chosen.map(tool))),
    downstream_agents: someOf([...agents, "nobody"], 4),
  },
  { requiredKeys: ["hop_budget"] },
);

/** What some agents declare under the scope `s`, through the real schema. */
export const declarations: fc.Arbitrary<readonly ScopeDeclaration[]> = someOf(agents, 5).chain((names) =>
  fc
    .tuple(...names.map((agent) => fc.record({ agent: fc.constant(agent), version: fc.nat(9), scope: wireScope })))
    .map((declared) =>
      declared.flatMap(({ agent, version, scope }) => {
        const parsed = agentManifest.parse({ scopes: { s: scope } }).scopes.get("s");
        return parsed === undefined ? [] : [{ agent, manifestVersion: version, declared: parsed }];
      }),
    ),
);

/** For graphs that are small enough to compile. */
export function compiled(declared: readonly ScopeDeclaration[], scope = "s") {
  const compilation = compile(scope, declared);
  if (!compilation.ok) throw new Error("a small graph compiles");
  return compilation.document;
}

const policy = (scope: string): fc.Arbitrary<PolicyIndex> =>
  declarations.map((declared) => indexPolicy({ scope, version: 1, document: compiled(declared, scope) }));

type Asked = Pick<HopRequest, "target" | "targetKind" | "dataClass">;

/** A call that the last agent of a chain declares. */
function declaredBy(index: PolicyIndex, chain: readonly string[]): readonly Asked[] {
  const name = chain.at(-1);
  const caller = name === undefined ? index.human : index.agents.get(name);
  const tools = [...(caller?.tools ?? [])].flatMap(([target, { dataClasses }]) =>
    dataClasses.map((dataClass): Asked => ({ target, targetKind: "tool", dataClass })),
  );
  const delegations = [...(caller?.downstream ?? [])].map((target): Asked => {
    const dataClass = index.agents.get(target)?.reachableClasses.join(" ") ?? "";
    return { target, targetKind: "agent", dataClass };
  });
  return [...tools, ...delegations];
}

const anything: fc.Arbitrary<Asked> = fc.record({
  target: fc.oneof({ weight: 9, arbitrary: fc.constantFrom<string>(...targets) }, fc.string()),
  targetKind: fc.constantFrom(...targetKinds),
  dataClass: fc.oneof({ weight: 9, arbitrary: someOf(classes, 2).map((names) => names.join(" ")) }, fc.string()),
});

/** Mostly what could be allowed, so that the later checks are reached; and some that are nothing of the kind. */
const hopUnder = (index: PolicyIndex): fc.Arbitrary<HopRequest> =>
  fc
    .oneof(
      { weight: 9, arbitrary: fc.constantFrom([], ...index.policy.document.paths.map(({ path }) => path)) },
      { weight: 1, arbitrary: fc.array(fc.constantFrom<string>(...agents), { maxLength: 4 }) },
      { weight: 1, arbitrary: fc.array(fc.string(), { maxLength: 3 }) },
    )
    .chain((chain) => {
      const declared = declaredBy(index, chain);
      return fc.record({
        ahead: fc.oneof({ weight: 15, arbitrary: fc.constant(0) }, fc.constantFrom(-1, 1)),
        chain: fc.constant(chain),
        asked:
          declared.length === 0 ? anything : fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...declared) }, anything),
        narrowedTo: fc.option(someOf<string>(classes, 3), { nil: undefined, freq: 2 }),
        tokenTaint: mostlyTrusted,
        declaredTaint: optional(mostlyTrusted),
      });
    })
    .map(({ ahead, chain, asked, ...token }) => ({ ...token, ...asked, chain, hop: chain.length + 1 + ahead }));

const mark = fc.tuple(fc.constantFrom<ChainMember>(null, ...agents), fc.constantFrom("declared", "mcp:web/fetch"));

const block: fc.Arbitrary<Block> = fc.record({
  kind: fc.constantFrom("tool", "agent", "scope"),
  ref: fc.constantFrom(...targets, "s", "other"),
});

const presentState: fc.Arbitrary<PresentState> = fc.record({
  session: fc.oneof(
    { weight: 9, arbitrary: fc.constant({ expired: false, revoked: false }) },
    fc.record({ expired: fc.boolean(), revoked: fc.boolean() }),
  ),
  identities: fc
    .array(fc.tuple(fc.constantFrom<string>(...agents), fc.constantFrom(...identityStatuses)), { maxLength: 3 })
    .map((pairs) => new Map(pairs)),
  identityRequired: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.boolean()),
  blocks: fc.array(block, { maxLength: 1 }),
  marks: fc.array(mark, { maxLength: 2 }).map((pairs) => new Map(pairs)),
  otherScopes: fc.array(policy("other"), { maxLength: 1 }),
});

const mostlyWithPaths = fc.oneof(
  { weight: 9, arbitrary: policy("s").filter(({ budgets }) => budgets.size > 0) },
  policy("s"),
);

/** The three arguments of `decide`. */
export const question = fc
  .tuple(mostlyWithPaths, presentState)
  .chain(([index, present]) => fc.tuple(fc.constant(index), hopUnder(index), fc.constant(present)));

/** A state without denials or marks. */
export const quiet: PresentState = {
  session: { expired: false, revoked: false },
  identities: new Map(),
  identityRequired: false,
  blocks: [],
  marks: new Map(),
  otherScopes: [],
};
