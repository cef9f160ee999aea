import { idOf, leafText, type Row } from "../leaf.ts";
import { type Source, sources } from "../sources.ts";

/** How the rows of an export are written: the same rows and evidence in each. */
export const evidenceFormats = ["jsonl", "ocsf", "cloudevents"] as const;
export type EvidenceFormat = (typeof evidenceFormats)[number];

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
  if (format === "jsonl") return proof;
  const event = format === "ocsf" ? ocsf(evidence) : cloudEvent(evidence);
  // The evidence is the last member: what precedes it is derived from it.
  const [name, end] = format === "ocsf" ? [`"unmapped":{"evidence":`, "}}"] : [`"data":`, "}"];
  return `${JSON.stringify(event).slice(0, -1)},${name}${proof}${end}`;
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

const timeColumn: Readonly<Record<Source, string>> = {
  session: "consented_at",
  decision: "decided_at",
  exchange: "spent_at",
  mint: "minted_at",
  renewal: "spent_at",
  event: "ts",
};

/** RFC 3339: PostgreSQL writes `2026-01-31 08:00:00.25+00`. */
const timeOf = ({ source, row }: EvidenceRow): string =>
  (row[timeColumn[source]] ?? "").replace(" ", "T").replace(/\+00$/, "Z");

/** Unique over all sources: an exchange has the identifier of its decision. */
const uidOf = ({ source, row }: EvidenceRow): string => `${source}/${idOf(source, row)}`;

const actorOf = ({ row }: EvidenceRow): string =>
  row.acting_agent ?? row.user_sub ?? row.agent ?? row.actor ?? row.prover ?? "unknown";

/** OCSF 1.3, API Activity (class 6003). */
function ocsf(evidence: EvidenceRow): object {
  const { source, row } = evidence;
  const isDenied = row.decision === "deny";
  const time = Date.parse(timeOf(evidence));
  return {
    activity_id: 99,
    activity_name: source,
    actor: { user: { name: actorOf(evidence) }, ...(row.session_id && { session: { uid: row.session_id } }) },
    api: { operation: row.target ?? row.kind ?? source },
    category_name: "Application Activity",
    category_uid: 6,
    class_name: "API Activity",
    class_uid: 6003,
    metadata: {
      log_name: source,
      product: { name: "svc", vendor_name: "Agent Authorization Service" },
      uid: uidOf(evidence),
      version: "1.3.0",
    },
    ...(row.target && { resources: [{ name: row.target, type: row.target_kind }] }),
    severity: isDenied ? "Medium" : "Informational",
    severity_id: isDenied ? 3 : 1,
    src_endpoint: { name: actorOf(evidence) },
    status: isDenied ? "Failure" : "Success",
    ...(isDenied && { status_detail: row.deny_reason }),
    status_id: isDenied ? 2 : 1,
    time: Number.isNaN(time) ? 0 : time,
    type_name: "API Activity: Other",
    type_uid: 600_399,
  };
}

/** CloudEvents 1.0, structured JSON. */
const cloudEvent = (evidence: EvidenceRow): object => ({
  specversion: "1.0",
  id: uidOf(evidence),
  source: "/svc/record",
  type: `svc.record.${evidence.source}`,
  subject: actorOf(evidence),
  time: timeOf(evidence),
  datacontenttype: "application/json",
});
