import type { DecisionRecord, SessionRead } from "@svc/core";
import { html } from "hono/html";
import { badge, code, isolated, link, type Markup, time } from "./markup.ts";
import { actionPath, caller, personPath, shortId, target } from "./places.ts";
import { type Column, table } from "./table.ts";
import { denyWords, outcomeBadge, outcomeTone } from "./words.ts";

/** A decision below the one whose token it spent. */
interface Node {
  readonly record: DecisionRecord;
  /** 0 for a call of the person, or one whose caller's own decision is not among the rows. */
  readonly depth: number;
  /** Of the last decision below it. */
  readonly lastMs: number;
}

/**
 * In the order of a walk: each decision before those below it, siblings by time, those of one millisecond as they were recorded.
 * @param records newest first
 */
export function treeOf(records: readonly DecisionRecord[]): readonly Node[] {
  const oldestFirst = records.toReversed().sort((a, b) => a.decidedAtMs - b.decidedAtMs || a.hop - b.hop);
  const shown = new Set(records.map(({ actionId }) => actionId));
  const parentOf = ({ parentActionId }: DecisionRecord) =>
    parentActionId !== null && shown.has(parentActionId) ? parentActionId : "";
  const below = Map.groupBy(oldestFirst, parentOf);
  const walk = (record: DecisionRecord, depth: number): Node[] => {
    const nodes = (below.get(record.actionId) ?? []).flatMap((child) => walk(child, depth + 1));
    return [{ record, depth, lastMs: Math.max(record.decidedAtMs, ...nodes.map(({ lastMs }) => lastMs)) }, ...nodes];
  };
  return (below.get("") ?? []).flatMap((record) => walk(record, 0));
}

/** Person, agents and tools of a session: each line is a decision, further in than the one that led to it. */
export function sessionTree({ facts, marks }: SessionRead, records: readonly DecisionRecord[]): Markup {
  const nodes = treeOf(records);
  const firstMs = Math.min(...records.map(({ decidedAtMs }) => decidedAtMs));
  const lastMs = Math.max(...records.map(({ decidedAtMs }) => decidedAtMs));
  const sources = new Map(marks.map(({ actionId, source }) => [actionId, source]));
  const columns: readonly Column<Node>[] = [
    { head: "Call", cell: (node) => call(node, facts.userSub) },
    { head: "Outcome", cell: ({ record }) => html`${outcomeBadge(record)} ${denyWords(record.denyReason)}` },
    { head: "Data", cell: ({ record }) => code(record.dataClass) },
    { head: "Taint", cell: ({ record }) => taintOf(record, sources.get(record.actionId)) },
    { head: "Time", cell: ({ record }) => time(record.decidedAtMs) },
    {
      head: "After",
      cell: (node) =>
        html`<span class="when">${timeline(node, firstMs, lastMs)} <span class="figure-of">${seconds(node.record.decidedAtMs - firstMs)}</span></span>`,
      isNumber: true,
    },
    { head: "Action", cell: ({ record }) => shortId(actionPath(record.actionId), record.actionId) },
  ];
  return table({
    caption:
      "From the person through agents to tools; bars show when each call was made, and when the last one below it",
    columns,
    rows: nodes,
    whenEmpty: "No decisions in this session yet.",
  });
}

/** A line further in names the target alone: its caller is the line that it is below. */
function call({ record, depth }: Node, userSub: string): Markup {
  if (depth > 0) {
    const rails = Array.from(
      { length: depth },
      (_, at) => html`<span class="rail${at === depth - 1 && " last"}"></span>`,
    );
    return html`<span class="branch">${rails}<span><span class="quiet">${record.targetKind}</span> ${target(record)}</span></span>`;
  }
  const from =
    record.hop === 1
      ? link(personPath(userSub), userSub)
      : html`<span class="quiet">hop ${record.hop}</span> ${caller(record)}`;
  return html`<span class="branch"><span>${from} → ${target(record)}</span></span>`;
}

/** @param marked the source, where the call marked an agent: a tool's answer, or a delegation by a marked agent */
function taintOf({ taint, taintSource, targetKind }: DecisionRecord, marked: string | undefined): Markup | undefined {
  if (marked !== undefined) {
    return html`${badge("observe", targetKind === "tool" ? "begins here" : "handed on")} <code>${marked}</code>`;
  }
  if (taint === "trusted_internal") return undefined;
  return html`${badge("neutral", "carried")} ${taintSource !== null && html`<code>${taintSource}</code>`}`;
}

/** A point, and a line to the last decision below it; the column has the figure. */
function timeline({ record, lastMs }: Node, startMs: number, endMs: number): Markup {
  const at = (ms: number): number => (endMs === startMs ? 0 : (97 * (ms - startMs)) / (endMs - startMs));
  const [from, to] = [at(record.decidedAtMs), at(lastMs)];
  return html`<svg class="bar timeline ${outcomeTone(record)}" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="whole" y="2.5" width="100" height="1"/><rect class="below" x="${from.toFixed(2)}" y="2" width="${(to - from + 1).toFixed(2)}" height="2"/><rect class="part" x="${from.toFixed(2)}" width="3" height="6"/></svg>`;
}

/** A length of time in two units at most. */
export function seconds(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Who acts in a session beside another one, and for whom. */
export const besideWords = (agent: string | null, holder: string | null): Markup =>
  agent === null || holder === null
    ? html`the first of them`
    : html`${isolated(agent)} acts, asked for by ${isolated(holder)}`;
