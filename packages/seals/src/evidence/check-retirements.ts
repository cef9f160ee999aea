import { join } from "node:path";
import { monthOfId } from "../entries.ts";
import { leafOf } from "../leaf.ts";
import { rootOfPath } from "../merkle.ts";
import { sources } from "../sources.ts";
import type { EvidenceFinding } from "./evidence-finding.ts";
import { evidenceFiles, linesOf } from "./folder.ts";
import { type EvidenceRow, parsedObject, parseRow, renderRow } from "./render.ts";
import type { Statement } from "./statement.ts";

/** A month past retention, and the sealed event that says so. */
export interface RetirementProof {
  readonly month: string;
  readonly event: EvidenceRow | undefined;
}

export const retirementLine = (month: string, event: EvidenceRow): string =>
  `{"month":${JSON.stringify(month)},"event":${renderRow("jsonl", event)}}`;

export async function readRetirementProofs(folder: string): Promise<readonly RetirementProof[]> {
  const proofs: RetirementProof[] = [];
  for await (const { text = "" } of linesOf(join(folder, evidenceFiles.retirements))) {
    const { month, event: proof } = parsedObject(text) ?? {};
    const event = parseRow("jsonl", JSON.stringify(proof ?? null));
    const isLine = typeof month === "string" && event !== undefined && retirementLine(month, event) === text;
    proofs.push({ month: typeof month === "string" ? month : "", event: isLine ? event : undefined });
  }
  return proofs;
}

/** The months whose rows may be missing, by events that are in the given seals. */
export function checkRetirements(
  proofs: readonly RetirementProof[],
  seals: ReadonlyMap<number, Statement>,
  trustedThrough: number,
): { readonly retired: ReadonlySet<string>; readonly findings: readonly EvidenceFinding[] } {
  const isProven = ({ month, event }: RetirementProof, at: number): boolean =>
    event !== undefined &&
    month > (proofs[at - 1]?.month ?? "") &&
    event.batch <= trustedThrough &&
    isIncluded(event, seals.get(event.batch)) &&
    isRetirementOf(month, event);
  const proven = proofs.filter(isProven);
  const others = proofs.filter((each) => !proven.includes(each));
  return {
    retired: new Set(proven.map(({ month }) => month)),
    findings: others.map(({ month }) => ({ kind: "retirement_unproven", month })),
  };
}

/** The event was made when the month was over (docs/reference/record.md#seals). */
export function isRetirementOf(month: string, { source, row }: Pick<EvidenceRow, "source" | "row">): boolean {
  const isOfMonth = parsedObject(row.details ?? "")?.month === month;
  return source === "event" && row.kind === "records_retired" && isOfMonth && monthOfId(row.event_id ?? "") > month;
}

function isIncluded({ source, row, leafFormat, path, index }: EvidenceRow, seal: Statement | undefined): boolean {
  const leaf = leafOf(source, leafFormat, row);
  if (seal === undefined || leaf === undefined || leafFormat !== seal.format) return false;
  const size = sources.reduce((sum, each) => sum + seal.counts[each], 0);
  const siblings = path.map((hash) => Buffer.from(hash, "base64url"));
  const isCanonical = siblings.every((hash, at) => hash.toString("base64url") === path[at]);
  const root = rootOfPath(leaf, siblings, { index, size });
  return isCanonical && root !== undefined && Buffer.from(root).toString("base64url") === seal.root;
}
