import { isWithin, splitDataClasses } from "./data-class.ts";
import { type DenyReason, denyReasonTable } from "./deny-reason.ts";
import type { TargetKind } from "./kinds.ts";
import type { AgentManifestDocument } from "./manifest.ts";
import { isMcpServerRef } from "./name-patterns.ts";
import { quoted } from "./names.ts";
import type { WouldBlock } from "./rows.ts";

/** Calls that observe mode let pass in one way, as the audit's would-block list groups them. */
export interface WouldBlockGroup {
  readonly agent: string;
  readonly target: string;
  readonly targetKind: TargetKind;
  /** Several, space-separated, are allowed for an agent. */
  readonly dataClass: string;
  readonly denyReason: DenyReason;
}

/** What would admit a group: a new version of the agent's manifest, or advice. */
export type AdmittingChange =
  | {
      readonly kind: "manifest";
      /** The agent's manifest with the change, to be submitted as it is; the members it had keep their order. */
      readonly manifest: AgentManifestDocument;
      readonly summary: string;
      /** What the change admits beyond the calls that were seen, a sentence each. */
      readonly warnings: readonly string[];
    }
  /** No change of this manifest admits the group. */
  | { readonly kind: "other"; readonly advice: string };

type ScopeDocument = AgentManifestDocument["scopes"][string];
type ToolDocument = NonNullable<ScopeDocument["tools"]>[number];

/**
 * The change to the agent's manifest that would admit a would-block group (docs/reference/record.md#would-block-list).
 * A proposal: submitting it is still reconciled with what the servers advertise, and sessions keep their pinned policy.
 * @param manifest the agent's latest accepted manifest, as it was submitted; undefined where that agent has none
 */
export function admittingChange(
  group: WouldBlockGroup,
  scope: string,
  manifest: AgentManifestDocument | undefined,
): AdmittingChange {
  const declared = manifest && Object.hasOwn(manifest.scopes, scope) ? manifest.scopes[scope] : undefined;
  const change = changeFor(group, scope, declared);
  if ("advice" in change) return { kind: "other", advice: change.advice };
  if (manifest === undefined || declared === undefined) {
    return { kind: "other", advice: noManifest(group, scope) };
  }
  const { apply, summary, warnings } = change;
  return {
    kind: "manifest",
    manifest: { ...manifest, scopes: { ...manifest.scopes, [scope]: apply(declared) } },
    summary,
    warnings,
  };
}

/** The changes of one agent's manifest for several groups, each on top of the one before. */
export function admittingChanges(
  groups: readonly WouldBlockGroup[],
  scope: string,
  manifest: AgentManifestDocument | undefined,
): readonly AdmittingChange[] {
  let changed = manifest;
  return groups.map((group) => {
    const change = admittingChange(group, scope, changed);
    if (change.kind === "manifest") changed = change.manifest;
    return change;
  });
}

/** Why the newest policy of the scope denies the group, as recorded where it could not be decided. Undefined: admitted. */
export function openReason({ now, denyReason }: Pick<WouldBlock, "now" | "denyReason">, scope: string) {
  const there = now.scopes.find((each) => each.scope === scope);
  if (there !== undefined && there.sinceVersion !== null) return undefined;
  // Every group is of denies and has a reason.
  return there?.denyReason ?? denyReason ?? "TARGET_NOT_DECLARED";
}

interface ScopeChange {
  readonly apply: (scope: ScopeDocument) => ScopeDocument;
  readonly summary: string;
  readonly warnings: readonly string[];
}

type Change = ScopeChange | { readonly advice: string };

/** At hop 1 the human acts, who has no manifest: the agents that people may delegate to declare for them. */
const noManifest = ({ agent, target }: WouldBlockGroup, scope: string): string =>
  `${quoted(agent)} has no accepted manifest with scope ${quoted(scope)}. If it is a person, declare ${quoted(target)} in the manifest of an entry agent of the scope; if it is an agent, register it with this scope first.`;

function changeFor(group: WouldBlockGroup, scope: string, declared: ScopeDocument | undefined): Change {
  const { remedy } = denyReasonTable[group.denyReason];
  if ("advice" in remedy) return remedy;
  switch (remedy.change) {
    case "target":
      return declaresTarget(group, declared) ? declareClasses(group, declared) : declareTarget(group, scope);
    case "data_class":
      return declareClasses(group, declared);
    case "accepts_taint":
      return acceptTaint(group, declared);
    default:
      return remedy.change satisfies never;
  }
}

const toolOf = ({ target }: WouldBlockGroup, declared: ScopeDocument | undefined): ToolDocument | undefined =>
  declared?.tools?.find(({ ref }) => ref === target);

const declaresTarget = (group: WouldBlockGroup, declared: ScopeDocument | undefined): boolean =>
  group.targetKind === "tool"
    ? toolOf(group, declared) !== undefined
    : (declared?.downstream_agents ?? []).includes(group.target);

function declareTarget(group: WouldBlockGroup, scope: string): Change {
  const { agent, target, targetKind, dataClass } = group;
  if (targetKind === "agent") {
    return {
      apply: (declared) => ({ ...declared, downstream_agents: [...(declared.downstream_agents ?? []), target] }),
      summary: `Let ${agent} delegate to ${target}.`,
      warnings: [
        `${agent} may then delegate to ${target} everything that ${target} declares under scope ${quoted(scope)}, not only ${dataClass}.`,
      ],
    };
  }
  if (isMcpServerRef(target)) {
    return {
      advice: `Sessions with ${target} follow from its tools: declare one that ${agent} calls, as ${quoted(`${target}/...`)}.`,
    };
  }
  const tool: ToolDocument = { ref: target, data_classes: splitDataClasses(dataClass) };
  return {
    apply: (declared) => ({ ...declared, tools: [...(declared.tools ?? []), tool] }),
    summary: `Let ${agent} call ${target} for ${dataClass}.`,
    warnings: [
      `Every chain that reaches ${agent} under scope ${quoted(scope)} may then call it, with any parameters.`,
      `It is declared as a read that accepts calls under untrusted data. If it writes, set "access": "write"; if it must be bound to its parameters, set "privileged": true.`,
    ],
  };
}

function declareClasses(group: WouldBlockGroup, declared: ScopeDocument | undefined): Change {
  const { agent, target, targetKind, dataClass } = group;
  if (targetKind === "agent") {
    return {
      advice: `${target} declares nothing for ${dataClass}: declare it for a tool of ${target}, or of an agent downstream of it, or delegate for less.`,
    };
  }
  const tool = toolOf(group, declared);
  if (tool === undefined) return { advice: `Declare ${target} in the manifest of ${agent} first.` };
  const { privileged, access, data_classes: classes } = tool;
  const missing = splitDataClasses(dataClass).filter((name) => !isWithin(name, classes));
  if (missing.length === 0) return { advice: `The manifest of ${agent} declares ${target} for ${dataClass} already.` };
  return {
    apply: withTool(target, (known) => ({ ...known, data_classes: [...known.data_classes, ...missing] })),
    summary: `Let ${agent} call ${target} for ${dataClass} too.`,
    warnings: [
      `The tool's other facts hold for ${dataClass} too: ${privileged ? "privileged" : "not privileged"}, access ${access ?? "read"}.`,
      `${dataClass} covers every data class below it as well.`,
    ],
  };
}

function acceptTaint(group: WouldBlockGroup, declared: ScopeDocument | undefined): Change {
  const { agent, target } = group;
  const tool = toolOf(group, declared);
  if (tool === undefined) return { advice: `Set "accepts_taint": true where ${target} is declared.` };
  if (tool.accepts_taint) {
    return {
      advice: `${agent} accepts taint already: set it in every other manifest of the scope that declares ${target}.`,
    };
  }
  return {
    apply: withTool(target, (known) => ({ ...known, accepts_taint: true })),
    summary: `Let ${agent} call ${target} after it touched untrusted data.`,
    warnings: [
      `Text written by strangers can then decide when and how ${target} is called${tool.privileged ? ", and the tool is privileged" : ""}.`,
      "It takes effect only once every manifest of the scope that declares this tool sets it.",
    ],
  };
}

const withTool =
  (ref: string, change: (tool: ToolDocument) => ToolDocument) =>
  (scope: ScopeDocument): ScopeDocument => ({
    ...scope,
    tools: (scope.tools ?? []).map((tool) => (tool.ref === ref ? change(tool) : tool)),
  });
