import { idOf, type Row } from "../leaf.ts";
import type { Source } from "../sources.ts";

/** How the rows of an export and of a sink are written: the same rows and evidence in each. */
export const evidenceFormats = ["jsonl", "ocsf", "cloudevents"] as const;
export type EvidenceFormat = (typeof evidenceFormats)[number];

/** What every format shows around the evidence, and derives from it. */
export interface EvidenceEvent {
  /** Unique over all sources: an exchange has the identifier of its decision. */
  readonly uid: string;
  readonly type: Source | "finding";
  /** RFC 3339. */
  readonly time: string;
  readonly actor: string;
  readonly operation: string;
  readonly sessionId?: string | null | undefined;
  readonly target?: string | null | undefined;
  readonly targetKind?: string | null | undefined;
  readonly level: "informational" | "medium" | "high";
  /** Why it failed; undefined where it did not. */
  readonly failure?: string | null | undefined;
}

const timeColumn: Readonly<Record<Source, string>> = {
  session: "consented_at",
  decision: "decided_at",
  exchange: "spent_at",
  mint: "minted_at",
  renewal: "spent_at",
  event: "ts",
};

export function rowEvent({ source, row }: { readonly source: Source; readonly row: Row }): EvidenceEvent {
  const isDenied = row.decision === "deny";
  return {
    uid: `${source}/${idOf(source, row)}`,
    type: source,
    // PostgreSQL writes `2026-01-31 08:00:00.25+00`.
    time: (row[timeColumn[source]] ?? "").replace(" ", "T").replace(/\+00$/, "Z"),
    actor: row.acting_agent ?? row.user_sub ?? row.agent ?? row.actor ?? row.prover ?? "unknown",
    operation: row.target ?? row.kind ?? source,
    sessionId: row.session_id,
    target: row.target,
    targetKind: row.target_kind,
    level: isDenied ? "medium" : "informational",
    ...(isDenied && { failure: row.deny_reason }),
  };
}

/** One line without its end. The evidence is the last member: what precedes it is derived from it. */
export function eventLine(format: EvidenceFormat, event: EvidenceEvent, evidence: string): string {
  if (format === "jsonl") return evidence;
  const members = format === "ocsf" ? ocsf(event) : cloudEvent(event);
  const [name, end] = format === "ocsf" ? [`"unmapped":{"evidence":`, "}}"] : [`"data":`, "}"];
  return `${JSON.stringify(members).slice(0, -1)},${name}${evidence}${end}`;
}

const severities = {
  informational: { severity: "Informational", severity_id: 1 },
  medium: { severity: "Medium", severity_id: 3 },
  high: { severity: "High", severity_id: 4 },
} as const;

/** OCSF 1.3, API Activity (class 6003). */
function ocsf(event: EvidenceEvent): object {
  const { type, actor, target, targetKind, sessionId, level, failure } = event;
  const time = Date.parse(event.time);
  const hasFailed = failure !== undefined;
  return {
    activity_id: 99,
    activity_name: type,
    actor: { user: { name: actor }, ...(sessionId && { session: { uid: sessionId } }) },
    api: { operation: event.operation },
    category_name: "Application Activity",
    category_uid: 6,
    class_name: "API Activity",
    class_uid: 6003,
    metadata: {
      log_name: type,
      product: { name: "svc", vendor_name: "Agent Authorization Service" },
      uid: event.uid,
      version: "1.3.0",
    },
    ...(target && { resources: [{ name: target, type: targetKind }] }),
    ...severities[level],
    src_endpoint: { name: actor },
    status: hasFailed ? "Failure" : "Success",
    ...(hasFailed && { status_detail: failure }),
    status_id: hasFailed ? 2 : 1,
    time: Number.isNaN(time) ? 0 : time,
    type_name: "API Activity: Other",
    type_uid: 600_399,
  };
}

/** CloudEvents 1.0, structured JSON. */
const cloudEvent = ({ uid, type, actor, time }: EvidenceEvent): object => ({
  specversion: "1.0",
  id: uid,
  source: "/svc/record",
  type: `svc.record.${type}`,
  subject: actor,
  time,
  datacontenttype: "application/json",
});
