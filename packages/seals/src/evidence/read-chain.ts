import type { PublicJwk } from "@svc/tokens";
import { chainWalk } from "../chain.ts";
import { timeOfId } from "../entries.ts";
import { type RecordReader, readStatements } from "../record-reader.ts";
import type { TamperedRow } from "../rows.ts";
import type { Seal } from "../seal.ts";
import { sources } from "../sources.ts";

/** Why nothing was exported: an export that is written also verifies. */
export class EvidenceRefused extends Error {
  override readonly name = "EvidenceRefused";
  readonly kind: "nothing_sealed" | "chain" | "list_changed" | "retirement" | TamperedRow["kind"];
  readonly batch: number | undefined;
  constructor(kind: EvidenceRefused["kind"], message: string, batch?: number) {
    super(message);
    this.kind = kind;
    this.batch = batch;
  }
}

export interface Link {
  readonly batch: number;
  readonly hash: string;
}

export interface Chain {
  /** From the first seal with rows of the span to the newest one. */
  readonly links: readonly Link[];
  readonly keys: ReadonlyMap<string, PublicJwk>;
  readonly lastBatch: number;
  readonly untilMs: number;
}

/**
 * Walks all statements: seals that the chain passes over are left out.
 * @param until epoch milliseconds, exclusive; undefined, or later than what is sealed: what is sealed
 * @throws {EvidenceRefused} where nothing of the span is sealed.
 */
export async function readChain(reader: RecordReader, sinceMs: number, until: number | undefined): Promise<Chain> {
  const walk = chainWalk(new Map());
  let chain: SealTimes[] = [];
  let newest: Seal | undefined;
  let faulty: number | undefined;
  for await (const stored of readStatements(reader)) {
    const { seal, hash, faults, strays, batch } = await walk.next(stored);
    if (seal === undefined || faults.length > 0) {
      faulty = batch;
      continue;
    }
    if (strays.length > 0) chain = chain.filter((link) => !strays.includes(link.batch));
    if ((chain.at(-1)?.hash ?? null) !== seal.previous) throw notChained(batch);
    newest = seal;
    faulty = undefined;
    chain.push({ batch, hash, ...timesOf(seal) });
  }
  // Seals that a later one passes over are none of the chain's; after the newest one there may be no other.
  if (faulty !== undefined) throw notChained(faulty);
  const untilMs = Math.min(until ?? Number.POSITIVE_INFINITY, newest === undefined ? 0 : timesOf(newest).sealedMs);
  if (untilMs <= sinceMs) throw new EvidenceRefused("nothing_sealed", "no row of that span is sealed");
  const links = chain.filter(({ endsMs }) => endsMs >= sinceMs);
  const lastBatch = links.findLast(({ startsMs }) => startsMs < untilMs)?.batch ?? 0;
  return { links, keys: new Map(walk.keys().map((key) => [key.kid, key.publicJwk])), lastBatch, untilMs };
}

const notChained = (batch: number): EvidenceRefused =>
  new EvidenceRefused("chain", `the seal of batch ${batch} does not continue the one before it`, batch);

/** Of a seal, in epoch milliseconds. */
interface SealTimes extends Link {
  /** Where its first range begins. */
  readonly startsMs: number;
  /** Where its last range ends. */
  readonly endsMs: number;
}

function timesOf({ ranges }: Seal) {
  const ends = sources.map((source) => timeOfId(ranges[source].through));
  const starts = sources.map((source) => timeOfId(ranges[source].after ?? "0".repeat(12)));
  // Every source is sealed up to the first end.
  return { startsMs: Math.min(...starts), endsMs: Math.max(...ends), sealedMs: Math.min(...ends) };
}
