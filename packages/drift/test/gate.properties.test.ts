import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type AgentManifestDocument,
  agentManifest,
  compile,
  decide,
  indexPolicy,
  taints,
  targetKinds,
} from "@svc/core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { edgeLine, endLine } from "../src/edge.ts";
import { aggregateTrace, checkDrift, type Edge } from "../src/index.ts";
import { aFolder } from "./support/edges.ts";

// Small worlds: few names, so that what is generated meets.
const agents = ["alpha", "beta", "gamma", "10", "constructor"] as const;
const refs = ["http:ledger/read", "http:ledger/post", "mcp:files/read", "mcp:files#roots/list"] as const;
const classes = ["finance", "finance.entries", "financeX", "protocol"] as const;
const scopes = ["s", "t"] as const;

const someOf = <T>(items: readonly T[], maxLength = items.length) => fc.shuffledSubarray([...items], { maxLength });

const tool = (ref: string) =>
  fc.record(
    {
      ref: fc.constant(ref),
      data_classes: fc.shuffledSubarray([...classes], { minLength: 1, maxLength: 2 }),
      privileged: fc.boolean(),
      accepts_taint: fc.boolean(),
    },
    { requiredKeys: ["ref", "data_classes", "privileged"] },
  );

const scope = fc.record(
  {
    hop_budget: fc.integer({ min: 1, max: 5 }),
    entry: fc.constantFrom(true, true, false),
    tools: someOf(refs, 3).chain((chosen) => fc.tuple(...chosen.map(tool))),
    downstream_agents: someOf(agents, 3),
  },
  { requiredKeys: ["hop_budget", "tools"] },
);

const manifest: fc.Arbitrary<AgentManifestDocument> = fc
  .dictionary(fc.constantFrom(...scopes), scope, { minKeys: 1 })
  .map((declared) => ({ scopes: declared }));

const world = fc
  .shuffledSubarray([...agents], { minLength: 2 })
  .chain((names) => fc.tuple(...names.map((agent) => fc.record({ agent: fc.constant(agent), manifest }))));

/** Mostly short, and mostly of what could be declared, so that every reason is met often. */
const chain = fc.oneof(
  { weight: 1, arbitrary: fc.array(fc.constantFrom(...agents), { maxLength: 3 }) },
  { weight: 4, arbitrary: fc.tuple(fc.constantFrom(...agents)) },
);
const dataClass = fc.oneof(
  { weight: 1, arbitrary: fc.string() },
  { weight: 3, arbitrary: someOf(classes, 2).map((names) => names.join(" ")) },
  { weight: 6, arbitrary: fc.constantFrom(...classes) },
);

const edge: fc.Arbitrary<Edge> = fc
  .record({
    scope: fc.constantFrom(...scopes, ...scopes, ...scopes, "elsewhere"),
    chain,
    target: fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...refs, ...agents, "mcp:files") }, fc.string()),
    targetKind: fc.constantFrom(...targetKinds, "tool" as const, "tool" as const),
    dataClass,
    ahead: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.constant(1)),
    narrowedTo: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: someOf(classes, 2) }),
    taint: fc.constantFrom(...taints),
    outcome: fc.constantFrom("allow", "deny"),
  })
  .map(({ ahead, ...same }) => ({ ...same, caller: same.chain.at(-1) ?? "ada", hop: same.chain.length + 1 + ahead }));

type World = readonly { readonly agent: string; readonly manifest: AgentManifestDocument }[];

/** The verdict function called without the gate. */
function verdictByHand(declared: World, edge: Edge): string {
  const { scope, chain, target, targetKind, dataClass, narrowedTo, hop, taint } = edge;
  const parsed = declared.map((one) => ({ agent: one.agent, scopes: agentManifest.parse(one.manifest).scopes }));
  const policyOf = (name: string) => {
    const declarations = parsed.flatMap(({ agent, scopes: byName }) => {
      const inScope = byName.get(name);
      return inScope ? [{ agent, manifestVersion: 1, declared: inScope }] : [];
    });
    const compilation = compile(name, declarations);
    if (!compilation.ok) throw new Error("a small world compiles");
    return indexPolicy({ scope: name, version: 1, document: compilation.document });
  };
  const policy = policyOf(scope ?? "");
  const caller = chain.at(-1);
  const asking = caller === undefined ? [...policy.human.downstream] : [caller];
  const touched = parsed
    .filter(({ agent }) => asking.includes(agent))
    .flatMap(({ scopes: byName }) => [...byName.keys()]);
  const others = [...new Set(touched)].filter((name) => name !== scope);
  const call = { hop, chain, target, targetKind, dataClass };
  const request = { ...call, narrowedTo: narrowedTo ?? undefined, declaredTaint: undefined };
  const verdict = decide(
    policy,
    { ...request, tokenTaint: taint },
    {
      session: { expired: false, revoked: false },
      identities: new Map(),
      identityRequired: false,
      blocks: [],
      marks: new Map(),
      otherScopes: others.map(policyOf),
    },
  );
  return verdict.outcome === "allow" ? "allow" : `${verdict.reason} ${verdict.consentableScopes.join()}`;
}

type Key = Omit<Edge, "outcome" | "caller">;
const keyOf = ({ scope, chain, target, targetKind, dataClass, narrowedTo, hop, taint }: Key) =>
  JSON.stringify([scope, chain, target, targetKind, dataClass, narrowedTo, hop, taint]);

test("the gate and the verdict function agree on 10,000 generated edges, through a trace file", () => {
  const file = join(aFolder(), "trace.jsonl");
  const seen = new Set<string>();
  const property = fc.property(world, fc.array(edge, { minLength: 100, maxLength: 100 }), (declared, edges) => {
    const ts = "2026-01-01T00:00:00.000Z";
    const lines = edges.map((one, index) => edgeLine({ run: "r", seq: index + 1, ts }, one));
    writeFileSync(file, lines.join("") + endLine("r", edges.length));
    const trace = aggregateTrace(file);
    const report = checkDrift(trace, declared);
    expect(report.errors).toEqual([]);
    const undeclared = new Map(
      report.undeclared.map(({ edge: refused, reason, consentableScopes }) => [
        keyOf(refused),
        `${reason} ${consentableScopes.join()}`,
      ]),
    );
    for (const one of edges) {
      const verdict = verdictByHand(declared, one);
      seen.add(verdict.split(" ", 1)[0] ?? "");
      expect(undeclared.get(keyOf(one)) ?? "allow").toBe(verdict);
    }
    const refused = edges.some((one) => verdictByHand(declared, one) !== "allow");
    expect(report.result).toBe(refused ? "drift" : "pass");
  });
  fc.assert(property, { numRuns: 100 });
  expect([...seen]).toEqual(
    expect.arrayContaining([
      "allow",
      "PATH_NOT_DECLARED",
      "TARGET_NOT_DECLARED",
      "SCOPE_NOT_CONSENTED",
      "DATA_CLASS_NOT_DECLARED",
      "DATA_CLASS_WIDENED",
      "TAINT_BLOCKED",
    ]),
  );
});
