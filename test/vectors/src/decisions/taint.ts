import { agent, tool } from "../manifest.ts";
import { allow, deny, table } from "../vector.ts";

const tainted = "untrusted_external";
const admitted = { ...allow, taint: tainted } as const;

const manifests = {
  planner: agent("expenses", 4, {
    tools: [
      tool("http:ledger/read", "finance"),
      tool("http:ledger/vote", "finance", { accepts_taint: false }),
      tool("http:ledger/post", "finance", { privileged: true }),
      tool("http:ledger/void", "finance", { privileged: true, accepts_taint: true }),
      tool("http:shared/accepts", "finance"),
      tool("http:shared/privileged", "finance"),
      tool("http:shared/level", "finance", { guarantee_level: "full" }),
    ],
    downstream_agents: ["clerk"],
  }),
  clerk: agent("expenses", 4, {
    tools: [
      tool("http:ledger/vote", "finance", { accepts_taint: false }),
      tool("http:shared/accepts", "finance", { accepts_taint: false }),
      tool("http:shared/privileged", "finance", { privileged: true, accepts_taint: true }),
      tool("http:shared/level", "finance", { guarantee_level: "consent_only" }),
    ],
    downstream_agents: ["auditor"],
  }),
  auditor: agent("expenses", 4, { tools: [tool("http:ledger/audit", "finance")] }),
};

const base = { manifests, scope: "expenses", targetKind: "tool", dataClass: "finance" } as const;
const byPlanner = { ...base, chain: ["planner"], target: "http:ledger/read" };
/** A tool that refuses taint, called by a chain of two agents. */
const guarded = { ...base, chain: ["planner", "clerk"], target: "http:ledger/vote" };
const blockedBy = (taintSource?: string) =>
  deny("TAINT_BLOCKED", { taint: tainted, ...(taintSource !== undefined && { taintSource }) });

/** The declarations that accept taint. */
const admissionRows = table({ ...byPlanner, declaredTaint: tainted }, [
  {
    name: "an unprivileged tool accepts taint by default",
    want: { ...admitted, taintSource: "declared" },
  },
  { name: "an unprivileged tool may refuse taint", target: "http:ledger/vote", want: blockedBy("declared") },
  {
    name: "a privileged tool refuses taint by default",
    target: "http:ledger/post",
    want: { ...blockedBy("declared"), privileged: true },
  },
  {
    name: "a privileged tool may accept taint",
    target: "http:ledger/void",
    want: { ...admitted, taintSource: "declared", privileged: true },
  },
  {
    name: "a tool that another agent of the scope declares as refusing",
    target: "http:shared/accepts",
    want: blockedBy("declared"),
  },
  {
    name: "a delegation is not refused for taint",
    target: "clerk",
    targetKind: "agent",
    want: { ...admitted, taintSource: "declared", guaranteeLevel: null },
  },
]);

const mergedRows = table(byPlanner, [
  { name: "without taint every tool of the agent is allowed", target: "http:ledger/vote", want: allow },
  {
    name: "without taint a privileged tool is allowed",
    target: "http:ledger/post",
    want: { ...allow, privileged: true },
  },
  {
    name: "a tool that another agent of the scope declares privileged",
    target: "http:shared/privileged",
    want: { ...allow, privileged: true },
  },
  {
    name: "a tool has the guarantee level of its weakest declaration",
    target: "http:shared/level",
    want: { ...allow, guaranteeLevel: "consent_only" },
  },
  {
    name: "a tool without a guarantee level has that of the enforcement point",
    want: { ...allow, guaranteeLevel: "network" },
  },
]);

/** The sources of taint. */
const sourceRows = [
  ...table(guarded, [
    { name: "no taint from any source", want: allow },
    { name: "the token's claim", tokenTaint: tainted, overHttp: false, want: blockedBy() },
    { name: "the request's declaration", declaredTaint: tainted, want: blockedBy("declared") },
    {
      name: "a mark on the caller",
      present: { marks: { clerk: "http:web/browse" } },
      want: blockedBy("http:web/browse"),
    },
    {
      name: "a mark on an agent before the caller",
      present: { marks: { planner: "http:web/browse" } },
      want: blockedBy("http:web/browse"),
    },
    {
      name: "a mark on the person counts for every chain",
      present: { humanMark: "http:web/browse" },
      want: blockedBy("http:web/browse"),
    },
    { name: "a mark on an agent outside the chain", present: { marks: { auditor: "http:web/browse" } }, want: allow },
    {
      name: "the request's declaration cannot lower the token's claim",
      tokenTaint: tainted,
      declaredTaint: "trusted_internal",
      overHttp: false,
      want: blockedBy(),
    },
    {
      name: "the request's declaration cannot lower a mark",
      declaredTaint: "trusted_internal",
      present: { marks: { clerk: "http:web/browse" } },
      want: blockedBy("http:web/browse"),
    },
    { name: "a declaration of trusted changes nothing", declaredTaint: "trusted_internal", want: allow },
    {
      name: "a mark is the named source before the request's declaration",
      declaredTaint: tainted,
      present: { marks: { clerk: "http:web/browse" } },
      want: blockedBy("http:web/browse"),
    },
  ]),
  ...table({ ...guarded, target: "auditor", targetKind: "agent" }, [
    {
      name: "a mark on the target does not taint the call",
      present: { marks: { auditor: "http:web/browse" } },
      want: allow,
    },
    {
      name: "a delegation has the taint of its chain",
      present: { marks: { planner: "http:web/browse" } },
      want: { ...admitted, taintSource: "http:web/browse" },
    },
  ]),
  ...table({ ...guarded, chain: [] }, [
    { name: "the person's own call without taint", want: allow },
    {
      name: "a mark on the person taints the person's own call",
      present: { humanMark: "declared" },
      want: blockedBy("declared"),
    },
    { name: "the person declares taint", declaredTaint: tainted, want: blockedBy("declared") },
    {
      name: "a mark on an agent does not taint the person's own call",
      present: { marks: { planner: "http:web/browse" } },
      want: allow,
    },
  ]),
];

/** Check 10. */
export const taintVectors = [...admissionRows, ...mergedRows, ...sourceRows];
