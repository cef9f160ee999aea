import type { CallEffect, Taint } from "@svc/core";

type Sources = Readonly<Record<string, string>>;
type Edge = readonly [from: string, to: string];

/** One row on the two views of a session's marks (docs/reference/decision.md#effective-taint). */
export interface ViewVector {
  /** What the row promises. */
  readonly name: string;
  readonly chain: readonly string[];
  readonly target: string;
  /** What the call leaves where denies are enforced, and where a deny is only observed. */
  readonly effects: { readonly enforced: CallEffect; readonly observed: CallEffect };
  readonly declaredTaint?: Taint;
  /** Marks before, that every decision heeds. */
  readonly marks?: Sources;
  /** Marks before, that observed decisions alone heed. */
  readonly observedMarks?: Sources;
  /** Delegations before, that were allowed. */
  readonly delegations?: readonly Edge[];
  /** Delegations before, that were only observed. */
  readonly observedDelegations?: readonly Edge[];
  /** Marks added, that every decision heeds. */
  readonly want: Sources;
  /** Marks added, that observed decisions alone heed. */
  readonly wantObserved: Sources;
}

const web = "http:web/browse";
const none = { kind: "none" } as const;
const untrusted = { kind: "results", taint: "untrusted_external" } as const;
const trusted = { kind: "results", taint: "trusted_internal" } as const;
const delegation = { kind: "delegation" } as const;
const allowed = (effect: CallEffect) => ({ enforced: effect, observed: effect });
const observedDeny = (effect: CallEffect) => ({ enforced: none, observed: effect });

const browse = { chain: ["planner", "clerk"], target: web } as const;
const ask = { chain: ["planner", "clerk"], target: "auditor" } as const;

export const viewVectors: readonly ViewVector[] = [
  {
    name: "an allow marks for every decision",
    ...browse,
    effects: allowed(untrusted),
    want: { planner: web, clerk: web },
    wantObserved: {},
  },
  {
    name: "an observed deny marks for observed decisions alone",
    ...browse,
    effects: observedDeny(untrusted),
    want: {},
    wantObserved: { planner: web, clerk: web },
  },
  {
    name: "an allow marks for every decision those that an observed deny had marked",
    ...browse,
    effects: allowed(untrusted),
    observedMarks: { planner: "http:no/where", clerk: "http:no/where" },
    want: { planner: web, clerk: web },
    wantObserved: {},
  },
  {
    name: "an observed deny adds nothing to marks that every decision heeds",
    ...browse,
    effects: observedDeny(untrusted),
    marks: { planner: web, clerk: web },
    want: {},
    wantObserved: {},
  },
  {
    name: "an allowed delegation under a mark of an observed deny spreads it as what it is",
    ...ask,
    effects: allowed(delegation),
    observedMarks: { clerk: web },
    want: {},
    wantObserved: { auditor: web, planner: web },
  },
  {
    name: "an observed delegation under a mark spreads it for observed decisions alone",
    ...ask,
    effects: observedDeny(delegation),
    marks: { clerk: web, planner: web },
    want: {},
    wantObserved: { auditor: web },
  },
  {
    name: "a mark flows up an allowed delegation for every decision, and up an observed one for observed decisions",
    ...browse,
    chain: ["clerk"],
    effects: allowed(untrusted),
    delegations: [["planner", "clerk"]],
    observedDelegations: [["boss", "clerk"]],
    want: { clerk: web, planner: web },
    wantObserved: { boss: web },
  },
  {
    name: "a mark of an observed deny flows up an allowed delegation as what it is",
    ...browse,
    chain: ["clerk"],
    effects: observedDeny(untrusted),
    delegations: [["planner", "clerk"]],
    want: {},
    wantObserved: { clerk: web, planner: web },
  },
  {
    name: "a caller's own word counts for every decision, also where its call was an observed deny",
    ...browse,
    effects: observedDeny(trusted),
    declaredTaint: "untrusted_external",
    want: { clerk: "declared" },
    wantObserved: {},
  },
];
