import type { CallEffect, Taint } from "@svc/core";

/** One row: the marks that a decision adds (docs/reference/decision.md#effective-taint). */
export interface MarkVector {
  /** The row's guarantee. */
  readonly name: string;
  /** The agents up to the caller; empty where the person calls. */
  readonly chain: readonly string[];
  readonly target: string;
  /** `none` for a refused call; a deny in observe mode has the effect of the forwarded call. */
  readonly effect: CallEffect;
  /** Absent: trusted. */
  readonly tokenTaint?: Taint;
  readonly declaredTaint?: Taint;
  /** The marks before: by agent name, the source. */
  readonly marks?: Readonly<Record<string, string>>;
  readonly humanMark?: string;
  /** Delegations of the session before this call. */
  readonly delegations?: readonly (readonly [from: string, to: string])[];
  /** The marks added: by agent name, the source. */
  readonly want: Readonly<Record<string, string>>;
  /** The mark added on the person. */
  readonly wantOnHuman?: string;
}

const refused = { effect: { kind: "none" } } as const;
const untrustedResults = { effect: { kind: "results", taint: "untrusted_external" } } as const;
const trustedResults = { effect: { kind: "results", taint: "trusted_internal" } } as const;
const delegation = { effect: { kind: "delegation" } } as const;

const web = "http:web/browse";
const call = { chain: ["planner", "clerk"], target: web, ...untrustedResults } as const;
const ask = { chain: ["planner", "clerk"], target: "auditor", ...delegation } as const;
const tainted = { declaredTaint: "untrusted_external" } as const;
const claimed = { tokenTaint: "untrusted_external" } as const;

const rows = (
  base: Omit<MarkVector, "name" | "want">,
  table: readonly (Pick<MarkVector, "name" | "want"> & Partial<MarkVector>)[],
) => table.map((row): MarkVector => ({ ...base, ...row }));

const untrustedCallRows = [
  ...rows(call, [
    { name: "an allowed call to an untrusted tool marks every agent of its chain", want: { planner: web, clerk: web } },
    { name: "an allowed call to a trusted tool adds no mark", ...trustedResults, want: {} },
    { name: "a refused call to an untrusted tool adds no mark", ...refused, want: {} },
    { name: "at hop n the person is not marked", chain: ["planner"], want: { planner: web } },
    { name: "a marked agent keeps its first source", marks: { clerk: "http:mail/read" }, want: { planner: web } },
    {
      name: "a marked chain gets no further mark",
      marks: { planner: "declared", clerk: "declared" },
      want: {},
    },
    { name: "a tainted call to a trusted tool adds no mark", ...trustedResults, ...claimed, want: {} },
  ]),
  ...rows({ ...call, chain: [] }, [
    { name: "at hop 1 the person is marked", want: {}, wantOnHuman: web },
    { name: "at hop 1 a trusted tool adds no mark", ...trustedResults, want: {} },
    { name: "at hop 1 a refused call adds no mark", ...refused, want: {} },
    { name: "a marked person keeps its first source", humanMark: "declared", want: {} },
    {
      name: "a mark on the person does not spread to an agent",
      delegations: [["planner", "clerk"]],
      want: {},
      wantOnHuman: web,
    },
  ]),
];

const taintedDelegationRows = [
  ...rows(ask, [
    { name: "an allowed delegation without taint adds no mark", want: {} },
    {
      name: "an allowed delegation under the token's taint marks its target, and the agents that delegated to it",
      ...claimed,
      want: { auditor: "declared", planner: "declared", clerk: "declared" },
    },
    {
      name: "an allowed delegation under a mark marks its target with that source",
      marks: { planner: web, clerk: web },
      want: { auditor: web },
    },
    {
      name: "a mark before the caller reaches target and caller",
      marks: { planner: web },
      want: { auditor: web, clerk: web },
    },
    {
      name: "an allowed delegation under the person's mark marks its target and its chain",
      humanMark: web,
      want: { auditor: web, planner: web, clerk: web },
    },
    { name: "a refused delegation under taint adds no mark", ...refused, ...claimed, want: {} },
    {
      name: "a refused delegation under a mark adds no mark",
      ...refused,
      marks: { planner: web, clerk: web },
      want: {},
    },
    { name: "the mark of an agent outside the chain is not passed on", marks: { lawyer: web }, want: {} },
  ]),
  ...rows({ ...ask, chain: [] }, [
    { name: "the person's delegation without taint adds no mark", want: {} },
    { name: "the person's delegation under its own mark marks the target", humanMark: web, want: { auditor: web } },
    {
      name: "the person's delegation with declared taint marks the target and the person",
      ...tainted,
      want: { auditor: "declared" },
      wantOnHuman: "declared",
    },
  ]),
];

const markedTargetRows = [
  ...rows({ ...ask, marks: { auditor: web } }, [
    { name: "a delegation to a marked agent marks every agent of the chain", want: { planner: web, clerk: web } },
    { name: "a refused delegation to a marked agent adds no mark", ...refused, want: {} },
    { name: "a delegation to a marked agent does not mark the person", chain: [], want: {} },
    {
      name: "a delegation to a marked agent marks those that delegated to its chain",
      delegations: [["lawyer", "clerk"]],
      want: { planner: web, clerk: web, lawyer: web },
    },
    { name: "a delegation to an unmarked agent that once delegated to a marked one", target: "courier", want: {} },
  ]),
];

const flowBackRows = [
  ...rows({ ...call, chain: ["clerk"] }, [
    {
      name: "a new mark reaches the agent that delegated to the marked one",
      delegations: [["planner", "clerk"]],
      want: { clerk: web, planner: web },
    },
    {
      name: "a new mark flows back over many delegations",
      delegations: [
        ["boss", "chief"],
        ["chief", "planner"],
        ["planner", "clerk"],
      ],
      want: { clerk: web, planner: web, chief: web, boss: web },
    },
    {
      name: "a new mark reaches every agent that delegated to the marked one",
      delegations: [
        ["planner", "clerk"],
        ["lawyer", "clerk"],
      ],
      want: { clerk: web, planner: web, lawyer: web },
    },
    {
      name: "a new mark does not flow down to those the marked agent delegated to",
      delegations: [["clerk", "auditor"]],
      want: { clerk: web },
    },
    {
      name: "agents without such an edge stay unmarked",
      delegations: [
        ["planner", "auditor"],
        ["lawyer", "courier"],
      ],
      want: { clerk: web },
    },
    {
      name: "delegations in a ring mark each agent once",
      delegations: [
        ["planner", "clerk"],
        ["clerk", "planner"],
      ],
      want: { clerk: web, planner: web },
    },
    {
      name: "a marked agent keeps its source when results flow back",
      marks: { planner: "declared" },
      delegations: [["planner", "clerk"]],
      want: { clerk: web },
    },
  ]),
  ...rows(ask, [
    {
      name: "a target marked under taint marks those that delegated to it before",
      ...claimed,
      delegations: [["lawyer", "auditor"]],
      want: { auditor: "declared", planner: "declared", clerk: "declared", lawyer: "declared" },
    },
    {
      name: "the delegation itself counts as an edge",
      marks: { planner: web },
      chain: ["planner", "clerk"],
      want: { auditor: web, clerk: web },
    },
  ]),
];

const declaredRows = [
  ...rows({ ...call, ...trustedResults, ...tainted }, [
    { name: "a request that raises taint marks the caller", want: { clerk: "declared" } },
    {
      name: "a refused request that raises taint marks the caller",
      ...refused,
      want: { clerk: "declared" },
    },
    {
      name: "a request that raises taint marks no agent before the caller",
      delegations: [["boss", "planner"]],
      want: { clerk: "declared" },
    },
    {
      name: "a caller's declared taint flows back to the agents that delegated to it",
      delegations: [["planner", "clerk"]],
      want: { clerk: "declared", planner: "declared" },
    },
    {
      name: "a refused request that raises taint flows back too",
      ...refused,
      delegations: [["planner", "clerk"]],
      want: { clerk: "declared", planner: "declared" },
    },
    { name: "a request that declares trusted adds no mark", declaredTaint: "trusted_internal", want: {} },
    {
      name: "a caller's declaration is recorded in a tainted chain",
      marks: { planner: web },
      want: { clerk: "declared" },
    },
    {
      name: "a caller's declaration is recorded with a tainted token",
      ...claimed,
      want: { clerk: "declared" },
    },
    { name: "a caller's declaration is recorded under the person's mark", humanMark: web, want: { clerk: "declared" } },
    { name: "a marked caller's declaration changes no source", marks: { clerk: web }, want: {} },
  ]),
  ...rows({ ...call, ...trustedResults, ...tainted, chain: [] }, [
    { name: "a person that declares taint is marked", want: {}, wantOnHuman: "declared" },
    {
      name: "a person that declares taint is marked, also when refused",
      ...refused,
      want: {},
      wantOnHuman: "declared",
    },
  ]),
  ...rows({ ...ask, ...tainted }, [
    {
      name: "a delegation with declared taint marks caller, target and chain",
      want: { clerk: "declared", auditor: "declared", planner: "declared" },
    },
    {
      name: "a refused delegation with declared taint marks the caller alone",
      ...refused,
      want: { clerk: "declared" },
    },
  ]),
];

export const markVectors: readonly MarkVector[] = [
  ...untrustedCallRows,
  ...taintedDelegationRows,
  ...markedTargetRows,
  ...flowBackRows,
  ...declaredRows,
];
