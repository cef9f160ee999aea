import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type EvidenceFormat, evidenceFormats } from "./event.ts";
import { parsedObject } from "./render.ts";
import { type EvidenceKey, hashText, readKey } from "./statement.ts";

/** The files of an export. The manifest is written last: without it the export is not complete. */
export const evidenceFiles = {
  manifest: "manifest.json",
  keys: "keys.json",
  seals: "seals.jsonl",
  lists: "lists.jsonl",
  retirements: "retirements.jsonl",
  rows: { jsonl: "rows.jsonl", ocsf: "rows.ocsf.jsonl", cloudevents: "rows.cloudevents.jsonl" },
  script: "verify.mjs",
} as const satisfies Readonly<Record<string, string | Readonly<Record<EvidenceFormat, string>>>>;

export interface EvidenceManifest {
  readonly version: 1;
  readonly format: EvidenceFormat;
  /** RFC 3339: every sealed row from then on, by the time in its identifier. */
  readonly since: string;
  /** Exclusive. */
  readonly until: string;
  readonly batches: number;
  readonly rows: number;
  /** The newest seal. */
  readonly head: { readonly batch: number; readonly hash: string };
}

/** The manifest's text, which ends with a hash of itself. */
export function manifestText({ version, format, since, until, batches, rows, head }: EvidenceManifest): string {
  const members = { version, format, since, until, batches, rows, head: { batch: head.batch, hash: head.hash } };
  return `${JSON.stringify({ ...members, sha256: hashText(JSON.stringify(members)) }, null, 2)}\n`;
}

/** Why an export cannot be verified at all. */
export class EvidenceUnreadable extends Error {
  override readonly name = "EvidenceUnreadable";
}

/** @throws {EvidenceUnreadable} where there is no manifest, or it was damaged. */
export async function readManifest(folder: string): Promise<EvidenceManifest> {
  const text = await readFile(join(folder, evidenceFiles.manifest), "utf8").catch(() => {
    throw new EvidenceUnreadable(`${folder} has no ${evidenceFiles.manifest}: it is no export, or an incomplete one`);
  });
  const manifest = parsedObject(text) as unknown as EvidenceManifest | undefined;
  const isKnown = manifest?.version === 1 && evidenceFormats.includes(manifest.format) && manifest.head !== undefined;
  const isTimed = !Number.isNaN(Date.parse(manifest?.since ?? "") + Date.parse(manifest?.until ?? ""));
  if (manifest === undefined || !isKnown || !isTimed || manifestText(manifest) !== text) {
    throw new EvidenceUnreadable(`${evidenceFiles.manifest} was altered, or is of another release`);
  }
  return manifest;
}

/** By thumbprint, in that order. */
export const keysText = (keys: readonly Readonly<Record<string, unknown>>[]): string =>
  `${JSON.stringify({ keys: keys.map(({ kty, crv, x, y, kid }) => ({ kty, crv, x, y, kid })) }, null, 2)}\n`;

export interface EvidenceKeys {
  readonly keys: ReadonlyMap<string, EvidenceKey>;
  /** Each key is named by its thumbprint, and nothing else is in the file. */
  readonly isIntact: boolean;
}

export async function readEvidenceKeys(folder: string): Promise<EvidenceKeys> {
  const text = await readFile(join(folder, evidenceFiles.keys), "utf8").catch(() => "");
  const listed = parsedObject(text)?.keys;
  const jwks = Array.isArray(listed) ? listed.filter((each) => typeof each === "object" && each !== null) : [];
  const read = jwks.map((jwk) => ({ named: jwk.kid, key: readKey(jwk) }));
  const keys = new Map(read.flatMap(({ key }) => (key === undefined ? [] : [[key.kid, key] as const])));
  const isNamed = read.every(({ named, key }, at) => named === key?.kid && named > (read[at - 1]?.named ?? ""));
  return { keys, isIntact: isNamed && keysText(jwks) === text };
}

export interface EvidenceLine {
  /** From 1 on. */
  readonly number: number;
  /** Undefined where it is not UTF-8, or has no end. */
  readonly text: string | undefined;
}

/** The lines of a file as bytes, so that no byte is read as another; none where there is no file. */
export async function* linesOf(path: string): AsyncGenerator<EvidenceLine> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const decoded = (bytes: Uint8Array): string | undefined => {
    try {
      return decoder.decode(bytes);
    } catch {
      return undefined;
    }
  };
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return;
  let rest = Buffer.alloc(0);
  let number = 0;
  for await (const chunk of file.createReadStream({ highWaterMark: 1 << 20 })) {
    const bytes: Buffer = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let from = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, from)) {
      yield { number: ++number, text: decoded(bytes.subarray(from, end)) };
      from = end + 1;
    }
    rest = Buffer.from(bytes.subarray(from));
  }
  if (rest.length > 0) yield { number: ++number, text: undefined };
}

/** Lines, of which the next can be looked at before it is taken. */
export interface EvidenceReader {
  peek(): Promise<EvidenceLine | undefined>;
  take(): Promise<EvidenceLine | undefined>;
}

export function evidenceReader(path: string): EvidenceReader {
  const lines = linesOf(path);
  let next: Promise<EvidenceLine | undefined> | undefined;
  const read = async () => (await lines.next()).value ?? undefined;
  const peek = () => {
    next ??= read();
    return next;
  };
  return {
    peek,
    take() {
      const taken = peek();
      next = undefined;
      return taken;
    },
  };
}
