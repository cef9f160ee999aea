import { join } from "node:path";
import { type BatchLine, batchCheck, readList } from "./check-batch.ts";
import { type ChainChecked, checkChain, isOfSpan, sealsOf } from "./check-chain.ts";
import { checkRetirements, readRetirementProofs } from "./check-retirements.ts";
import type { EvidenceFormat } from "./event.ts";
import type { EvidenceFinding } from "./evidence-finding.ts";
import { evidenceFiles, evidenceReader, readEvidenceKeys, readManifest } from "./folder.ts";
import { parsedObject, parseRow } from "./render.ts";
import type { Statement } from "./statement.ts";

export interface EvidenceVerification {
  readonly folder: string;
  /** Thumbprints (RFC 7638) of the issuer's keys; undefined where the verifier has none. */
  readonly trusted: ReadonlySet<string> | undefined;
  /** The span that the export must cover: epoch milliseconds. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  /** Called after each batch. */
  readonly onBatch?: (batch: number, rows: number) => void;
}

export interface EvidenceVerified {
  readonly format: EvidenceFormat;
  readonly since: string;
  readonly until: string;
  readonly batches: number;
  /** As they were sealed. */
  readonly rows: number;
  /** Past retention. */
  readonly retired: number;
  readonly head: ChainChecked["head"];
}

/**
 * Verifies an export by its folder alone: no database, no network. Yields each finding, and returns the totals.
 * @throws {EvidenceUnreadable} where the folder has no complete export.
 */
export async function* verifyEvidence(
  verification: EvidenceVerification,
): AsyncGenerator<EvidenceFinding, EvidenceVerified> {
  const { folder, trusted, onBatch } = verification;
  const manifest = await readManifest(folder);
  const span = { sinceMs: Date.parse(manifest.since), untilMs: Date.parse(manifest.until) };
  const { sinceMs = span.sinceMs, untilMs = span.untilMs } = verification;
  if (span.sinceMs > sinceMs || span.untilMs < untilMs) yield { kind: "span_shorter" };
  const keys = await readEvidenceKeys(folder);
  const proofs = await readRetirementProofs(folder);
  const chain = await checkChain({
    folder,
    manifest,
    keys,
    trusted: trusted ?? new Set(keys.keys.keys()),
    span,
    keep: new Set(proofs.flatMap(({ event }) => event?.batch ?? [])),
  });
  yield* chain.findings;
  const isTrusted = chain.trustedThrough >= chain.lastBatch;
  if (!isTrusted) yield { kind: "not_trusted", batch: chain.trustedThrough + 1 };
  // Where the rows themselves are not trusted, their events need no finding of their own.
  const limit = isTrusted ? chain.trustedThrough : Number.POSITIVE_INFINITY;
  const { retired, findings } = checkRetirements(proofs, chain.kept, limit);
  yield* findings;

  const { format } = manifest;
  const lists = evidenceReader(join(folder, evidenceFiles.lists));
  const rows = batchLines(join(folder, evidenceFiles.rows[format]), format);
  const total = { batches: 0, rows: 0, retired: 0 };
  for await (const { statement: seal } of sealsOf(folder)) {
    if (seal === undefined || !isOfSpan(seal, span)) continue;
    const { findings: ofLists, line } = await nextList(lists, seal.batch);
    yield* ofLists;
    const list = readList(seal, line);
    if (list === undefined) yield { kind: "list_changed", batch: seal.batch };
    const check = batchCheck({ format, seal, list, retired });
    await fill(check, rows, seal.batch, chain.lastBatch);
    const ended = check.end();
    yield* ended.findings;
    total.batches++;
    total.rows += ended.rows;
    total.retired += ended.retired;
    onBatch?.(seal.batch, total.rows);
  }
  for (let line = await rows.take(); line !== undefined; line = await rows.take()) {
    yield { kind: "row_inserted", line: line.number };
  }
  while ((await lists.take()) !== undefined) yield { kind: "list_inserted" };
  if (manifest.batches !== total.batches || manifest.rows !== total.rows) yield { kind: "totals_changed" };
  return { format, since: manifest.since, until: manifest.until, ...total, head: chain.head };
}

/** The list of a batch: those before it belong to none. */
async function nextList(lists: ReturnType<typeof evidenceReader>, batch: number) {
  const findings: EvidenceFinding[] = [];
  for (let next = await lists.peek(); next !== undefined; next = await lists.peek()) {
    const named = parsedObject(next.text ?? "")?.batch;
    if (typeof named === "number" && named > batch) break;
    await lists.take();
    if (typeof named !== "number" || named === batch) return { findings, line: next.text };
    findings.push({ kind: "list_inserted", batch: named });
  }
  return { findings, line: undefined };
}

interface BatchLines {
  take(): Promise<BatchLine | undefined>;
  /** Puts a line back. */
  untake(line: BatchLine): void;
}

function batchLines(path: string, format: EvidenceFormat): BatchLines {
  const reader = evidenceReader(path);
  const back: BatchLine[] = [];
  return {
    async take() {
      const kept = back.pop();
      if (kept !== undefined) return kept;
      const line = await reader.take();
      return line && { ...line, evidence: line.text === undefined ? undefined : parseRow(format, line.text) };
    },
    untake: (line) => void back.push(line),
  };
}

/** Gives a batch its lines: also those that belong to none, or to one before. */
async function fill(
  check: ReturnType<typeof batchCheck>,
  rows: BatchLines,
  batch: Statement["batch"],
  lastBatch: number,
): Promise<void> {
  for (let line = await rows.take(); line !== undefined; line = await rows.take()) {
    const claimed = line.evidence?.batch ?? batch;
    if (!check.owns(line) && claimed > batch && claimed <= lastBatch) {
      // A line of a later batch ends this one, unless this one continues after it.
      const next = check.isFull() ? undefined : await rows.take();
      if (next !== undefined) rows.untake(next);
      if (next === undefined || !check.owns(next)) {
        rows.untake(line);
        return;
      }
    }
    check.add(line);
  }
}
