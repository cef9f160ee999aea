import type { CallEffect } from "@svc/core";
import { agent, tool } from "./manifest.ts";
import { allow, type DecisionVector, deny } from "./vector.ts";

/** One row: the effects of a decided call (docs/reference/decision.md#effective-taint). */
export interface EffectVector {
  /** The row's guarantee. */
  readonly name: string;
  readonly question: Omit<DecisionVector, "name">;
  /** False where the enforcement point only observes. */
  readonly enforced: boolean;
  readonly want: CallEffect;
}

const manifests = {
  planner: agent("expenses", 4, {
    tools: [
      tool("http:ledger/read", "finance"),
      tool("http:web/browse", "finance", { result_taint: "untrusted_external" }),
      tool("mcp:web/browse", "finance", { result_taint: "untrusted_external" }),
      tool("mcp:web/cache", "finance"),
      tool("mcp:ledger/read", "finance"),
    ],
    downstream_agents: ["clerk"],
  }),
  clerk: agent("expenses", 4, { tools: [tool("http:ledger/read", "finance", { result_taint: "trusted_internal" })] }),
};

const call = {
  manifests,
  scope: "expenses",
  chain: ["planner"],
  target: "http:ledger/read",
  targetKind: "tool",
  dataClass: "finance",
} as const;
const clerk = { target: "clerk", targetKind: "agent" } as const;
const protocol = { dataClass: "protocol" } as const;
const blocked = { present: { blocks: [{ kind: "scope", ref: "expenses" }] } } as const;

const nothing = { kind: "none" } as const;
const delegation = { kind: "delegation" } as const;
const trusted = { kind: "results", taint: "trusted_internal" } as const;
const untrusted = { kind: "results", taint: "untrusted_external" } as const;

type Change = Partial<Omit<DecisionVector, "name" | "want">>;

const allowed = (name: string, change: Change, want: CallEffect, enforced = true): EffectVector => ({
  name,
  question: { ...call, ...change, want: allow },
  enforced,
  want,
});
const denied = (
  name: string,
  change: Change,
  reason: Parameters<typeof deny>[0],
  enforced: boolean,
  want: CallEffect,
): EffectVector => ({
  name,
  question: { ...call, ...change, want: deny(reason) },
  enforced,
  want,
});

export const effectVectors: readonly EffectVector[] = [
  allowed("an allowed call returns the tool's results", {}, trusted),
  allowed("an allowed call to an untrusted tool returns untrusted results", { target: "http:web/browse" }, untrusted),
  allowed("an allowed delegation adds an edge", clerk, delegation),
  allowed(
    "an allowed delegation by the person adds an edge",
    { chain: [], target: "planner", targetKind: "agent" },
    delegation,
  ),
  allowed("an allow in observe mode has the same effects", { target: "http:web/browse" }, untrusted, false),
  allowed(
    "a server's protocol is as untrusted as the agent's worst tool there",
    { target: "mcp:web", ...protocol },
    untrusted,
  ),
  allowed("a server's protocol is trusted where all its tools are", { target: "mcp:ledger", ...protocol }, trusted),
  denied("an enforced deny has no effects", { target: "http:web/browse", ...blocked }, "TARGET_BLOCKED", true, nothing),
  denied("a refused delegation has no effects", { ...clerk, ...blocked }, "TARGET_BLOCKED", true, nothing),
  denied(
    "a deny in observe mode returns the forwarded call's results",
    { target: "http:web/browse", ...blocked },
    "TARGET_BLOCKED",
    false,
    untrusted,
  ),
  denied("a deny in observe mode returns trusted results of a trusted tool", blocked, "TARGET_BLOCKED", false, trusted),
  denied(
    "a denied delegation in observe mode adds an edge",
    { ...clerk, ...blocked },
    "TARGET_BLOCKED",
    false,
    delegation,
  ),
  denied(
    "an undeclared tool in observe mode counts as untrusted",
    { target: "http:no/where" },
    "TARGET_NOT_DECLARED",
    false,
    untrusted,
  ),
  denied(
    "an undeclared agent in observe mode counts as untrusted",
    { target: "nobody", targetKind: "agent" },
    "TARGET_NOT_DECLARED",
    false,
    untrusted,
  ),
  denied(
    "a refused call to an undeclared target has no effects",
    { target: "http:no/where" },
    "TARGET_NOT_DECLARED",
    true,
    nothing,
  ),
];
