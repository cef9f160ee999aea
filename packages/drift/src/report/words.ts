import { quoted } from "@svc/core";
import type { TracedEdge } from "../aggregate.ts";
import type { DriftError, DriftReport, UndeclaredEdge, UnexercisedEdge } from "../drift-report.ts";

/** Texts of the reports for people. Names that may hold anything are quoted as JSON. */

/** `human > planner -> "http:ledger/read" ("finance", scope "expenses")`. */
export function edgeWords({ chain, target, dataClass, scope }: TracedEdge): string {
  const inScope = scope === null ? "scope unknown" : `scope ${quoted(scope)}`;
  return `${["human", ...chain].join(" > ")} -> ${quoted(target)} (${quoted(dataClass)}, ${inScope})`;
}

export const undeclaredWords = (undeclared: UndeclaredEdge): string =>
  `${edgeWords(undeclared.edge)}: ${undeclared.reason}, ${timesWords(undeclared.edge.count)}. ${undeclared.remedy}`;

export const expectedWords = ({ edge, reason }: UndeclaredEdge): string =>
  `${edgeWords(edge)}: ${reason}, denied ${timesWords(edge.count)}, as expected`;

export const timesWords = (count: number): string => (count === 1 ? "once" : `${count} times`);

export function unexercisedWords({ scope, caller, target, dataClass }: UnexercisedEdge): string {
  const what = dataClass === null ? quoted(target) : `${quoted(target)} (${quoted(dataClass)})`;
  return `${caller ?? "human"} -> ${what}, scope ${quoted(scope)}: declared, and exercised by no run`;
}

export function summaryWords({ result, summary }: Pick<DriftReport, "result" | "summary">): string {
  const counts = [
    `${summary.edges} edges in ${summary.events} events of ${summary.runs} runs`,
    `${summary.undeclared} undeclared`,
    `${summary.expectedDenials} denied as expected`,
    `${summary.unexercised} never exercised`,
    `${summary.lostEvents} lost events`,
  ];
  return `${result}: ${counts.join(", ")}`;
}

/** Where to look: the manifest that would have to change, or else where the edge was recorded. */
const placeOf = ({ edge, manifestFile }: UndeclaredEdge): Place =>
  manifestFile === undefined ? edge.seenAt : { file: manifestFile };

export interface Place {
  readonly file?: string | undefined;
  readonly line?: number | undefined;
}

/** What a report lists, in the words that every form of it uses. */
export interface Finding {
  readonly group: "error" | "undeclared" | "expected" | "unexercised";
  readonly rule: UndeclaredEdge["reason"] | DriftError["kind"] | "never_exercised";
  /** The same for every run that finds it. */
  readonly name: string;
  readonly message: string;
  readonly place: Place;
}

/** What is wrong first, warnings last. */
export const findingsOf = ({ errors, undeclared, expectedDenials, warnings }: DriftReport): readonly Finding[] => [
  ...errors.map(({ kind, message, ...place }): Finding => ({ group: "error", rule: kind, name: kind, message, place })),
  ...undeclared.map((each): Finding => {
    const message = undeclaredWords(each);
    return { group: "undeclared", rule: each.reason, name: edgeWords(each.edge), message, place: placeOf(each) };
  }),
  ...expectedDenials.map((each): Finding => {
    const message = expectedWords(each);
    return { group: "expected", rule: each.reason, name: edgeWords(each.edge), message, place: each.edge.seenAt };
  }),
  ...warnings.map((each): Finding => {
    const name = unexercisedWords(each);
    return { group: "unexercised", rule: "never_exercised", name, message: name, place: { file: each.manifestFile } };
  }),
];

/** The message of a finding, after the place of an error: `traces/2.jsonl:7: this line is not an event`. */
export function placedMessage({ group, message, place: { file, line } }: Finding): string {
  if (group !== "error" || file === undefined) return message;
  return line === undefined ? `${file}: ${message}` : `${file}:${line}: ${message}`;
}
