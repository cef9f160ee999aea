import { leafText, type Row } from "../leaf.ts";
import { type Source, sources } from "../sources.ts";
import { type EvidenceFormat, eventLine, rowEvent } from "./event.ts";

/** A row with its place in a sealed batch. */
export interface EvidenceRow {
  readonly batch: number;
  /** Of the leaf, from 0 on. */
  readonly index: number;
  /** Sibling hashes from the leaf up, in base64url (RFC 6962 section 2.1.1). */
  readonly path: readonly string[];
  readonly source: Source;
  /** Of the leaf: the seal's. */
  readonly leafFormat: number;
  readonly row: Row;
}

/** The one line that holds a row, without its end; undefined where the row has no leaf of the format. */
export function renderRow(format: EvidenceFormat, evidence: EvidenceRow): string | undefined {
  const leaf = leafText(evidence.source, evidence.leafFormat, evidence.row);
  if (leaf === undefined) return undefined;
  const { batch, index, path } = evidence;
  const proof = `{"batch":${batch},"index":${index},"leaf":${leaf},"path":${JSON.stringify(path)}}`;
  return eventLine(format, rowEvent(evidence), proof);
}

/** The evidence in a line; undefined where it has none. What else the line says is not read. */
export function parseRow(format: EvidenceFormat, line: string): EvidenceRow | undefined {
  const whole = parsedObject(line);
  const place =
    format === "jsonl"
      ? whole
      : format === "ocsf"
        ? member(member(whole, "unmapped"), "evidence")
        : member(whole, "data");
  const leaf = member(place, "leaf");
  const row = member(leaf, "row");
  const source = sources.find((each) => each === leaf?.source);
  const { batch, index, path } = place ?? {};
  if (source === undefined || row === undefined || !isRow(row)) return undefined;
  if (typeof batch !== "number" || typeof index !== "number" || typeof leaf?.format !== "number") return undefined;
  if (!Array.isArray(path) || !path.every((hash) => typeof hash === "string")) return undefined;
  return { batch, index, path, source, leafFormat: leaf.format, row };
}

type Members = Readonly<Record<string, unknown>>;

/** The JSON object in a text; undefined where it is none. */
export function parsedObject(text: string): Members | undefined {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** The object in a member; undefined where it has none. */
export const member = (whole: Members | undefined, name: string): Members | undefined => asObject(whole?.[name]);

const asObject = (value: unknown): Members | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : undefined;

const isRow = (row: Members): row is Row =>
  Object.values(row).every((value) => value === null || typeof value === "string");
