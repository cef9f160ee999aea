import { createWriteStream, type WriteStream } from "node:fs";
import { mkdir, open, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { toJwks } from "@svc/tokens";
import { type Entry, monthOfId } from "../entries.ts";
import { proveRow } from "../prove.ts";
import { type RecordReader, readColumns, readSealFrom, type SealRow } from "../record-reader.ts";
import { readRetirements } from "../retirements.ts";
import { entriesOf } from "../rows.ts";
import { readSeal, type Seal, sealHash } from "../seal.ts";
import { sourceFacts } from "../sources.ts";
import { listLine } from "./check-batch.ts";
import { sealLine } from "./check-chain.ts";
import { isRetirementOf, retirementLine } from "./check-retirements.ts";
import type { EvidenceFormat } from "./event.ts";
import { type EvidenceManifest, evidenceFiles, keysText, manifestText } from "./folder.ts";
import { type Chain, EvidenceRefused, type Link, readChain } from "./read-chain.ts";
import { type EvidenceRow, renderRow } from "./render.ts";
import { readSealedRows } from "./sealed-rows.ts";
import { verifyScript } from "./verify-script.ts";

export interface EvidenceWriting {
  readonly reader: RecordReader;
  /** It must not exist. */
  readonly folder: string;
  readonly format: EvidenceFormat;
  /** Epoch milliseconds. */
  readonly sinceMs: number;
  /** Exclusive. Default: what is sealed. Later than that, it is what is sealed. */
  readonly untilMs?: number | undefined;
  /** The auditor's clock: epoch milliseconds. */
  readonly nowMs: number;
  /** Called after each batch. */
  readonly onBatch?: (batch: number, lastBatch: number, rows: number) => void;
}

/**
 * Writes the sealed rows of a span with what proves them: whole batches, as much memory as one needs. The manifest is
 * the last file. Where it fails, the folder is removed.
 * @throws {EvidenceRefused} where the record is not as it was sealed, or has nothing sealed in the span.
 */
export async function writeEvidence(writing: EvidenceWriting): Promise<EvidenceManifest> {
  const chain = await readChain(writing.reader, writing.sinceMs, writing.untilMs);
  await mkdir(writing.folder, { mode: 0o700 });
  try {
    return await writeFolder(writing, chain);
  } catch (cause) {
    await rm(writing.folder, { recursive: true, force: true });
    throw cause;
  }
}

async function writeFolder(writing: EvidenceWriting, chain: Chain): Promise<EvidenceManifest> {
  const { folder, format, reader, sinceMs, onBatch } = writing;
  const path = (name: string): string => join(folder, name);
  const events = await retirementEvents(writing);
  const facts = { reader, columns: await readColumns(reader) };
  const output = {
    seals: lineFile(path(evidenceFiles.seals)),
    lists: lineFile(path(evidenceFiles.lists)),
    rows: lineFile(path(evidenceFiles.rows[format])),
  };
  const used = new Set<string>();
  const months = new Set<string>();
  const total = { batches: 0, rows: 0 };
  for (const { batch, hash } of chain.links) {
    const stored = await readSealFrom(reader, batch);
    const read = stored && readSeal(stored.statement);
    if (stored === undefined || read === undefined || sealHash(stored.statement) !== hash)
      throw new EvidenceRefused("chain", `the seal of batch ${batch} is gone`);
    used.add(read.header.kid ?? "");
    await output.seals.write(sealLine(batch, stored.statement));
    if (batch > chain.lastBatch) continue;
    const { entries, lines } = await readBatch(facts, read.seal, stored, { format, events, months });
    await output.lists.write(listLine(batch, entries));
    for (const line of lines) await output.rows.write(line);
    total.batches++;
    total.rows += lines.length;
    onBatch?.(batch, chain.lastBatch, total.rows);
  }
  for (const file of Object.values(output)) await file.close();
  const proofs = [...months].sort().flatMap((month) => {
    const event = events.get(month);
    return event === undefined ? [] : [`${retirementLine(month, event)}\n`];
  });
  const jwks = toJwks(
    [...used].sort().flatMap((kid) => {
      const publicJwk = chain.keys.get(kid);
      return publicJwk === undefined ? [] : [{ kid, publicJwk }];
    }),
  );
  const head = chain.links.at(-1) as Link;
  const manifest: EvidenceManifest = {
    version: 1,
    format,
    since: new Date(sinceMs).toISOString(),
    until: new Date(chain.untilMs).toISOString(),
    ...total,
    head: { batch: head.batch, hash: head.hash },
  };
  const write = (name: string, text: string) => writeFile(path(name), text, { mode: 0o600, flush: true });
  await write(evidenceFiles.retirements, proofs.join(""));
  await write(evidenceFiles.keys, keysText(jwks.keys.map((jwk) => ({ ...jwk }))));
  await write(evidenceFiles.script, await verifyScript());
  await write(`${evidenceFiles.manifest}.new`, manifestText(manifest));
  await rename(path(`${evidenceFiles.manifest}.new`), path(evidenceFiles.manifest));
  await syncFolder(folder);
  return manifest;
}

interface BatchWriting {
  readonly format: EvidenceFormat;
  readonly events: ReadonlyMap<string, EvidenceRow>;
  /** Gains the retired months that the batch has rows of. */
  readonly months: Set<string>;
}

/** The lines of a batch: only rows as they were sealed. */
async function readBatch(
  facts: Parameters<typeof readSealedRows>[0],
  seal: Seal,
  stored: SealRow,
  { format, events, months }: BatchWriting,
) {
  const { batch } = seal;
  const entries = entriesOf(seal, stored.entries);
  if (entries === undefined) throw new EvidenceRefused("list_changed", `the list of batch ${batch} was changed`, batch);
  const { rows, tampered } = await readSealedRows(facts, seal, entries);
  for (const { kind, source, id } of tampered) {
    if (kind === "row_removed" && isRetired({ source, id }, events)) continue;
    const what = kind.slice("row_".length);
    throw new EvidenceRefused(kind, `the ${source} ${id} of batch ${batch} was ${what} after it was sealed`, batch);
  }
  const lines: string[] = [];
  for (const [index, entry] of entries.entries()) {
    const row = rows[index];
    // Rows that a retention run has not removed yet are left out with their month.
    if (isRetired(entry, events)) months.add(monthOfId(entry.id));
    else if (row !== undefined) lines.push(renderRow(format, row) ?? "");
  }
  return { entries: Buffer.from(stored.entries).toString("base64url"), lines };
}

const isRetired = ({ source, id }: Pick<Entry, "source" | "id">, events: ReadonlyMap<string, unknown>): boolean =>
  sourceFacts[source].retires && events.has(monthOfId(id));

/** The sealed event of each month past retention. */
async function retirementEvents({ reader, nowMs }: EvidenceWriting): Promise<ReadonlyMap<string, EvidenceRow>> {
  const events = new Map<string, EvidenceRow>();
  for (const { month, fault, sealedByMs } of await readRetirements(reader, { nowMs, maxUnsealedMs: 3_600_000 })) {
    if (fault !== undefined || sealedByMs !== undefined) {
      const cause = fault ?? "its event is not sealed yet: try again in some minutes";
      throw new EvidenceRefused("retirement", `${month} is marked as past retention: ${cause}`);
    }
    const event = await retirementEvent(reader, month);
    if (event !== undefined) events.set(month, event);
  }
  return events;
}

async function retirementEvent(reader: RecordReader, month: string): Promise<EvidenceRow | undefined> {
  const rows = await reader.query({
    text: `select event_id::text as id from public.administrative_event
      where kind = 'records_retired' and details->>'month' = $1::text order by event_id`,
    values: [month],
  });
  for (const { id } of rows) {
    const proven = await proveRow(reader, "event", id ?? "");
    const seal = proven.ok ? readSeal(proven.proof.seal)?.seal : undefined;
    if (!proven.ok || seal === undefined) continue;
    const { source, row, leaf_index: index, path } = proven.proof;
    const event = { batch: seal.batch, index, path, source, leafFormat: seal.format, row };
    if (isRetirementOf(month, event)) return event;
  }
  return undefined;
}

/** Lines, buffered, in a file that must not exist; `write` waits for the disk. */
function lineFile(path: string) {
  const stream: WriteStream = createWriteStream(path, {
    flags: "wx",
    mode: 0o600,
    highWaterMark: 1 << 20,
    flush: true,
  });
  const ended = finished(stream);
  // Thrown by `write` or `close`.
  ended.catch(() => {});
  return {
    async write(line: string): Promise<void> {
      if (!stream.write(`${line}\n`)) {
        await Promise.race([ended, new Promise((resolve) => stream.once("drain", resolve))]);
      }
    },
    async close(): Promise<void> {
      stream.end();
      await ended;
    },
  };
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  await handle.sync().finally(() => handle.close());
}
