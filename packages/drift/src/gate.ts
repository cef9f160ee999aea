import { decide, explain, type HopRequest, type PolicyIndex, presentOf, quoted, toDecisionRecord } from "@svc/core";
import type { EdgeTrace, TracedEdge, TraceFault, TraceFaultKind } from "./aggregate.ts";
import { type DeclaredPolicies, type DriftManifest, type PoliciesReading, readPolicies } from "./declared-policies.ts";
import type { DriftError, DriftReport, ScopedEdge, UndeclaredEdge } from "./drift-report.ts";
import { applyExpectedDenials, type ExpectedDenial } from "./expected-denials.ts";
import { edgeWords, timesWords } from "./report/words.ts";
import { unexercisedEdges } from "./unexercised.ts";

/** What a test run is known to have done beside its trace. */
export interface DriftExpectations {
  /** Calls whose deny a test expects; default none. */
  readonly expectedDenials?: readonly ExpectedDenial[] | undefined;
  /** Of edges that were recorded without a scope, and whose chain no recorded delegation made. */
  readonly scope?: string | undefined;
}

/**
 * Compiles the manifests and decides every recorded edge, as the control plane would in a session that was consented to
 * just now (docs/reference/drift.md#the-gate). Pure: no control plane, no discovery, no credentials.
 */
export const checkDrift = (
  trace: EdgeTrace,
  manifests: readonly DriftManifest[],
  expectations: DriftExpectations = {},
): DriftReport => judge(trace, readPolicies(manifests), expectations);

/** The same for manifests that were read, or could not be: then no edge is judged, and the report is an error. */
export function judge(trace: EdgeTrace, reading: PoliciesReading, expectations: DriftExpectations): DriftReport {
  const { scoped, unknown } = resolveScopes(trace.edges, expectations.scope);
  const judged = reading.ok ? judgeEdges(reading.policies, scoped, expectations.expectedDenials ?? []) : unjudged;
  const { undeclared, expectedDenials, warnings } = judged;
  const errors = [
    ...trace.faults.map(traceError),
    ...(trace.edges.length === 0 ? [nothingObserved] : []),
    ...trace.edges.filter((edge) => edge.undecided > 0).map(undecidedError),
    ...unknown.map(({ chain, seenAt }) => scopeUnknown(chain, seenAt)),
    ...(reading.ok ? judged.errors : reading.errors),
  ];
  return {
    result: errors.length > 0 ? "error" : undeclared.length > 0 ? "drift" : "pass",
    summary: {
      edges: trace.edges.length,
      events: trace.events,
      runs: trace.runs,
      undeclared: undeclared.length,
      expectedDenials: expectedDenials.length,
      unexercised: warnings.length,
      lostEvents: trace.faults.reduce((sum, { lost }) => sum + lost, 0),
    },
    undeclared,
    expectedDenials,
    errors,
    warnings,
  };
}

const unjudged = { undeclared: [], expectedDenials: [], warnings: [], errors: [] };

const judgeEdges = (policies: DeclaredPolicies, edges: readonly ScopedEdge[], expected: readonly ExpectedDenial[]) => ({
  ...applyExpectedDenials(
    expected,
    edges,
    edges.flatMap((edge) => verdictOn(policies, edge)),
  ),
  warnings: unexercisedEdges(policies, edges),
});

function verdictOn(policies: DeclaredPolicies, edge: ScopedEdge): readonly UndeclaredEdge[] {
  const policy = policies.policyOf(edge.scope);
  const hop = hopOf(edge);
  const caller = edge.chain.at(-1);
  const agents = caller === undefined ? [...policy.human.downstream] : [caller];
  const present = { ...presentOf(null), otherScopes: policies.otherScopesOf(agents, edge.scope) };
  const verdict = decide(policy, hop, present);
  if (verdict.outcome === "allow") return [];
  const { reason, consentableScopes } = verdict;
  const manifestFile = policies.fileOf(caller ?? edge.target);
  const remedy = remedyOf(policy, hop, edge, verdict);
  return [{ edge, reason, consentableScopes, remedy, ...(manifestFile !== undefined && { manifestFile }) }];
}

/** The effective taint is passed as the token's: its source makes no difference to the verdict. */
const hopOf = ({ hop, chain, target, targetKind, dataClass, narrowedTo, taint }: ScopedEdge): HopRequest => ({
  hop,
  chain,
  target,
  targetKind,
  dataClass,
  narrowedTo: narrowedTo ?? undefined,
  tokenTaint: taint,
  declaredTaint: undefined,
});

type Denied = Extract<ReturnType<typeof decide>, { outcome: "deny" }>;

function remedyOf(policy: PolicyIndex, hop: HopRequest, { caller }: ScopedEdge, verdict: Denied): string {
  const { consentableScopes: scopes } = verdict;
  const record = toDecisionRecord(hop, verdict, {
    actionId: "",
    sessionId: "",
    stage: "authorize",
    actingAgent: caller,
    enforced: true,
    policyVersion: policy.version,
    parentActionId: null,
    decidedAtMs: 0,
    present: scopes.length > 0 ? { scopes } : null,
  });
  return explain(policy, record, hop.narrowedTo).remedy ?? "";
}

const nothingObserved: DriftError = {
  kind: "nothing_observed",
  message: "no call edge was recorded: run the agents' tests with the environment that traceEnv gives",
};

const undecidedError = (edge: TracedEdge): DriftError => ({
  kind: "undecided",
  message: `${edgeWords(edge)}: the control plane gave no usable answer, ${timesWords(edge.undecided)}, so the call was not made. Run the tests again`,
  ...edge.seenAt,
});

const scopeUnknown = (chain: readonly string[], place: { file: string; line: number }): DriftError => ({
  kind: "scope_unknown",
  message: `no recorded edge shows in which scope ${quoted(chain.join(" > "))} acted: record the one delegation to it as well, or name the scope (--scope, or traceScope of its client)`,
  ...place,
});

const faultMessages: Readonly<Record<TraceFaultKind, (fault: TraceFault) => string>> = {
  trace_unreadable: () => "there is no trace, or it cannot be read",
  folder_empty: () => "no trace file is in this folder: run the agents' tests, and check SVC_TRACE_PATH",
  file_empty: () => "no event is in this trace file: its recorder could not write",
  line_unreadable: () => "this line is not an event",
  events_missing: ({ run, lost }) => `${lost} events of run ${run} are missing`,
  run_unended: ({ run }) => `run ${run} has no end: its process was killed, or could not write`,
  run_empty: ({ run }) =>
    `run ${run} recorded no call: run the tests of its process, or record nothing in it (an empty SVC_TRACE_PATH)`,
  run_contradictory: ({ run }) => `run ${run} contradicts itself: events after its end, or two in one place`,
};

const traceError = (fault: TraceFault): DriftError => ({
  kind: fault.kind,
  message: faultMessages[fault.kind](fault),
  file: fault.file,
  ...(fault.line !== undefined && { line: fault.line }),
});

/**
 * The scope of edges whose process did not see the first hop: that of the one delegation that made their chain, or
 * `fallback` where none was recorded.
 */
function resolveScopes(
  edges: readonly TracedEdge[],
  fallback: string | undefined,
): {
  readonly scoped: readonly ScopedEdge[];
  readonly unknown: readonly TracedEdge[];
} {
  const scopesOf = new Map<string, Set<string>>();
  const scoped: ScopedEdge[] = [];
  const unknown: TracedEdge[] = [];
  // A chain is made by an edge of a shorter one.
  for (const edge of edges.toSorted((a, b) => a.chain.length - b.chain.length)) {
    const delegated = scopesOf.get(pathOf(edge.chain));
    const scope = edge.scope ?? (delegated ? onlyOf(delegated) : fallback);
    if (scope === undefined) {
      unknown.push(edge);
      continue;
    }
    scoped.push({ ...edge, scope });
    if (edge.targetKind === "agent") {
      const path = pathOf([...edge.chain, edge.target]);
      scopesOf.set(path, (scopesOf.get(path) ?? new Set()).add(scope));
    }
  }
  return { scoped, unknown };
}

const pathOf = (agents: readonly string[]): string => JSON.stringify(agents);

function onlyOf(scopes: ReadonlySet<string>): string | undefined {
  if (scopes.size !== 1) return undefined;
  const [only] = scopes;
  return only;
}
