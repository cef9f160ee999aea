import type { DriftError, DriftReport, UndeclaredEdge, UnexercisedEdge } from "../drift-report.ts";

/** Texts of the reports for people. Names that may hold anything are quoted as JSON. */

const quote = (text: string): string => JSON.stringify(text);

/** `human > planner -> "http:ledger/read" (finance)`. */
export const edgeWords = ({ edge }: UndeclaredEdge): string =>
  `${["human", ...edge.chain].join(" > ")} -> ${quote(edge.target)} (${quote(edge.dataClass)}, scope ${quote(edge.scope)})`;

export const undeclaredWords = (undeclared: UndeclaredEdge): string =>
  `${edgeWords(undeclared)}: ${undeclared.reason}, ${timesWords(undeclared.edge.count)}. ${undeclared.remedy}`;

const timesWords = (count: number): string => (count === 1 ? "once" : `${count} times`);

export function unexercisedWords({ scope, caller, target, dataClass }: UnexercisedEdge): string {
  const what = dataClass === null ? quote(target) : `${quote(target)} (${quote(dataClass)})`;
  return `${caller ?? "human"} -> ${what}, scope ${quote(scope)}: declared, and exercised by no run`;
}

export function placeWords({ file, line }: Pick<DriftError, "file" | "line">): string {
  if (file === undefined) return "";
  return line === undefined ? `${file}: ` : `${file}:${line}: `;
}

export function summaryWords({ result, summary }: Pick<DriftReport, "result" | "summary">): string {
  const counts = [
    `${summary.edges} edges in ${summary.events} events of ${summary.runs} runs`,
    `${summary.undeclared} undeclared`,
    `${summary.unexercised} never exercised`,
    `${summary.lostEvents} lost events`,
  ];
  return `${result}: ${counts.join(", ")}`;
}

/** Where to look: the manifest that would have to change, or else where the edge was recorded. */
export const placeOf = ({ edge, manifestFile }: UndeclaredEdge): { readonly file: string; readonly line?: number } =>
  manifestFile === undefined ? edge.seenAt : { file: manifestFile };
