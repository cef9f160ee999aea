import { join } from "node:path";
import { timeOfId } from "../entries.ts";
import { sources } from "../sources.ts";
import type { EvidenceFinding } from "./evidence-finding.ts";
import { type EvidenceKeys, type EvidenceManifest, evidenceFiles, linesOf } from "./folder.ts";
import { parsedObject } from "./render.ts";
import { hashText, isSignedBy, readStatement, type Statement } from "./statement.ts";

export interface EvidenceSpan {
  /** Epoch milliseconds. */
  readonly sinceMs: number;
  /** Exclusive. */
  readonly untilMs: number;
}

export const sealLine = (batch: number, statement: string): string => JSON.stringify({ batch, statement });

/** A seal of the export; `statement` undefined where it is unreadable. */
interface SealOfFile {
  readonly batch: number | undefined;
  readonly hash: string;
  readonly statement: Statement | undefined;
}

export async function* sealsOf(folder: string): AsyncGenerator<SealOfFile> {
  for await (const { text = "" } of linesOf(join(folder, evidenceFiles.seals))) {
    const { batch, statement } = parsedObject(text) ?? {};
    const isLine = typeof batch === "number" && typeof statement === "string" && sealLine(batch, statement) === text;
    const read = isLine ? readStatement(statement) : undefined;
    yield {
      batch: typeof batch === "number" ? batch : undefined,
      hash: typeof statement === "string" ? hashText(statement) : "",
      statement: read?.batch === batch ? read : undefined,
    };
  }
}

/** Whether rows of the span may be in the seal's ranges, given that no seal before the first one has any. */
export const isOfSpan = ({ ranges }: Statement, { untilMs }: EvidenceSpan): boolean =>
  sources.some((source) => {
    const { after } = ranges[source];
    return after === null || timeOfId(after) < untilMs;
  });

export interface ChainChecked {
  readonly findings: readonly EvidenceFinding[];
  /** The newest seal that a trusted key signed: it authenticates all before it. */
  readonly trustedThrough: number;
  /** The last one with rows of the span. */
  readonly lastBatch: number;
  /** Of the newest seal. */
  readonly head: {
    readonly batch: number;
    readonly hash: string;
    readonly kid: string;
    readonly sealedAt: string;
  } | null;
  /** Those asked for, by batch. */
  readonly kept: ReadonlyMap<number, Statement>;
}

export interface ChainCheck {
  readonly folder: string;
  readonly manifest: EvidenceManifest;
  readonly keys: EvidenceKeys;
  /** Thumbprints. */
  readonly trusted: ReadonlySet<string>;
  readonly span: EvidenceSpan;
  /** Batches whose statements are returned. */
  readonly keep: ReadonlySet<number>;
}

/** Checks each seal's signature and that it continues the one before, and that together they cover the span. */
export async function checkChain({ folder, manifest, keys, trusted, span, keep }: ChainCheck): Promise<ChainChecked> {
  const findings: EvidenceFinding[] = [];
  const kept = new Map<number, Statement>();
  const used = new Set<string>();
  let before: SealOfFile | undefined;
  let first: Statement | undefined;
  let last: Statement | undefined;
  let [trustedThrough, lastBatch] = [0, 0];
  for await (const seal of sealsOf(folder)) {
    const { statement } = seal;
    if (statement === undefined) {
      findings.push({ kind: "seal_unreadable", ...(seal.batch !== undefined && { batch: seal.batch }) });
    } else {
      const { batch } = statement;
      const key = keys.keys.get(statement.kid);
      used.add(statement.kid);
      if (key === undefined) findings.push({ kind: "seal_unknown_key", batch });
      else if (!isSignedBy(statement, key)) findings.push({ kind: "seal_signature", batch });
      else if (trusted.has(key.kid)) trustedThrough = batch;
      if (before !== undefined && !follows(statement, before)) findings.push({ kind: "seal_not_chained", batch });
      if (isOfSpan(statement, span)) lastBatch = batch;
      if (keep.has(batch)) kept.set(batch, statement);
      first ??= statement;
      last = statement;
    }
    before = seal;
  }
  const { head } = manifest;
  if (before?.batch !== head.batch || before.hash !== head.hash)
    findings.push({ kind: "head_missing", batch: head.batch });
  if (!keys.isIntact || used.size !== keys.keys.size || ![...used].every((kid) => keys.keys.has(kid))) {
    findings.push({ kind: "keys_changed" });
  }
  findings.push(...cuts(first, last, span));
  const newest = last && before && { batch: last.batch, hash: before.hash, kid: last.kid, sealedAt: last.sealedAt };
  return { findings, trustedThrough, lastBatch, head: newest ?? null, kept };
}

const follows = (seal: Statement, { batch = 0, hash, statement: last }: SealOfFile): boolean =>
  seal.previous === hash &&
  seal.batch > batch &&
  (last === undefined || sources.every((source) => seal.ranges[source].after === last.ranges[source].through));

function cuts(
  first: Statement | undefined,
  last: Statement | undefined,
  span: EvidenceSpan,
): readonly EvidenceFinding[] {
  const isCutAtStart =
    first === undefined ||
    sources.some((source) => {
      const { after } = first.ranges[source];
      return after !== null && timeOfId(after) >= span.sinceMs;
    });
  const isCutAtEnd =
    last === undefined || sources.some((source) => timeOfId(last.ranges[source].through) < span.untilMs);
  return [
    ...(isCutAtStart ? [{ kind: "cut_at_start" as const }] : []),
    ...(isCutAtEnd ? [{ kind: "cut_at_end" as const }] : []),
  ];
}
