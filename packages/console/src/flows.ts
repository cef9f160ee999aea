import type { CallCount } from "@svc/core";
import { type Usage, usageBy } from "./calls.ts";
import type { Tone } from "./markup.ts";

/** Who calls whom, of the counted calls of a span. */

export interface FlowNode {
  readonly kind: "people" | "agent" | "tool";
  readonly name: string;
}

export interface Flow extends Usage {
  readonly from: FlowNode;
  readonly to: FlowNode;
}

/** Every person is one node: agents and tools are drawn. */
const people: FlowNode = { kind: "people", name: "people" };

export const nodeKey = ({ kind, name }: FlowNode): string => `${kind} ${name}`;

/** The most calls first. */
export const flowsOf = (counts: readonly CallCount[]): readonly Flow[] =>
  usageBy(
    counts,
    ({ byPerson, actingAgent, targetKind, target }) =>
      `${byPerson ? "" : JSON.stringify(actingAgent)} ${targetKind} ${target}`,
  ).map(({ call: { byPerson, actingAgent, target, targetKind }, ...usage }) => ({
    ...usage,
    from: byPerson ? people : { kind: "agent", name: actingAgent },
    to: { kind: targetKind, name: target },
  }));

/** What a map shows: all, one agent with its callers and targets, or one tool with its callers. */
export interface Focus {
  readonly agent?: string | undefined;
  readonly tool?: string | undefined;
  readonly isDeniedOnly: boolean;
}

export const within = (flows: readonly Flow[], { agent, tool, isDeniedOnly }: Focus): readonly Flow[] =>
  flows.filter(({ from, to, denied, observed }) => {
    if (isDeniedOnly && denied + observed === 0) return false;
    if (agent !== undefined) return isNode(from, "agent", agent) || isNode(to, "agent", agent);
    return tool === undefined || isNode(to, "tool", tool);
  });

const isNode = (node: FlowNode, kind: FlowNode["kind"], name: string): boolean =>
  node.kind === kind && node.name === name;

export const toneOf = ({ denied, observed }: Usage): Tone => (denied > 0 ? "deny" : observed > 0 ? "observe" : "allow");

export const rate = (calls: number, minutes: number): string => {
  const perMinute = calls / minutes;
  if (perMinute >= 10) return perMinute.toFixed(0);
  return perMinute >= 0.1 ? perMinute.toFixed(1) : "<0.1";
};

/** The figures of a flow in words. */
export const flowWords = (flow: Usage, minutes: number): string =>
  [
    `${rate(flow.total, minutes)}/min`,
    ...(flow.denied > 0 ? [`${flow.denied} denied`] : []),
    ...(flow.observed > 0 ? [`${flow.observed} would block`] : []),
  ].join(" · ");
