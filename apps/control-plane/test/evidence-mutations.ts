import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EvidenceUnreadable, reportEvidence } from "@svc/seals";

export interface Verified {
  readonly code: 0 | 1 | 2;
  // biome-ignore lint/suspicious/noExplicitAny: lines of JSON, as a program reads them.
  readonly findings: readonly any[];
  // biome-ignore lint/suspicious/noExplicitAny: lines of JSON, as a program reads them.
  readonly summary: any;
}

type Given = Pick<Parameters<typeof reportEvidence>[0], "folder" | "trusted" | "sinceMs" | "untilMs">;

export async function verified(given: Given): Promise<Verified> {
  const lines: string[] = [];
  try {
    const code = await reportEvidence({ ...given, json: true, print: (line) => void lines.push(line) });
    const parsed = lines.map((line) => JSON.parse(line));
    return { code, findings: parsed.slice(0, -1), summary: parsed.at(-1) };
  } catch (cause) {
    if (cause instanceof EvidenceUnreadable) return { code: 2, findings: [], summary: undefined };
    throw cause;
  }
}

/** Numbers from 0 up to `below`, the same ones for one seed (mulberry32). */
export function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

type Random = (below: number) => number;
type ChangeLines = (lines: string[], random: Random) => void;

/** Changes of a file's lines. */
const ofLines: Readonly<Record<string, ChangeLines>> = {
  removed: (lines, random) => void lines.splice(random(lines.length), 1 + random(3)),
  repeated: (lines, random) => {
    const line = lines[random(lines.length)] ?? "";
    lines.splice(random(lines.length + 1), 0, line);
  },
  inserted: (lines, random) => {
    const line = lines[random(lines.length)] ?? "";
    lines.splice(
      random(lines.length + 1),
      0,
      line.replace(/[0-9a-f](?=")/, (digit) => (digit === "1" ? "2" : "1")),
    );
  },
  swapped: (lines, random) => {
    const [a, b] = [random(lines.length), random(lines.length)];
    [lines[a], lines[b]] = [lines[b] ?? "", lines[a] ?? ""];
  },
  "moved to another place": (lines, random) => {
    const [line = ""] = lines.splice(random(lines.length), 1);
    lines.splice(random(lines.length + 1), 0, line);
  },
  "cut off at the start": (lines, random) => void lines.splice(0, 1 + random(lines.length)),
  "cut off at the end": (lines, random) => void lines.splice(random(lines.length)),
  "with another value": (lines, random) => {
    const at = random(lines.length);
    const values = [...(lines[at] ?? "").matchAll(/:(?:"[^"]*"|null|\d+)/g)];
    const { index = 0, 0: value = "" } = values[random(values.length || 1)] ?? {};
    const line = lines[at] ?? "";
    lines[at] = `${line.slice(0, index)}${value === ":null" ? ':"x"' : ":null"}${line.slice(index + value.length)}`;
  },
  "an empty line": (lines, random) => void lines.splice(random(lines.length + 1), 0, ""),
};

type ChangeBytes = (bytes: Buffer, random: Random) => Buffer;

const ofBytes: Readonly<Record<string, ChangeBytes>> = {
  "a flipped bit": (bytes, random) => {
    const at = random(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8));
    return bytes;
  },
  "another byte": (bytes, random) => {
    bytes[random(bytes.length)] = random(256);
    return bytes;
  },
  "an inserted byte": (bytes, random) => {
    const at = random(bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, at), Buffer.of(random(256)), bytes.subarray(at)]);
  },
  "a removed byte": (bytes, random) => {
    const at = random(bytes.length);
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
  },
  "nothing left": () => Buffer.alloc(0),
};

export interface Mutation {
  readonly file: string;
  readonly name: string;
}

/** Changes one file of an export at random; undefined where that left it as it was. */
export function mutate(folder: string, files: readonly string[], random: Random): Mutation | undefined {
  // Rows are the most.
  const file = files[random(2) === 0 ? 0 : random(files.length)] ?? "";
  const path = join(folder, file);
  const before = readFileSync(path);
  if (before.length === 0) return undefined;
  const kinds = [...Object.keys(ofLines), ...Object.keys(ofBytes)];
  const name = kinds[random(kinds.length)] ?? "";
  const after = changed(Buffer.from(before), name, random);
  if (after.equals(before)) return undefined;
  writeFileSync(path, after);
  return { file, name };
}

function changed(bytes: Buffer, name: string, random: Random): Buffer {
  const change = ofLines[name];
  if (change === undefined) return ofBytes[name]?.(bytes, random) ?? bytes;
  const lines = bytes.toString("utf8").split("\n").slice(0, -1);
  change(lines, random);
  return Buffer.from(lines.map((line) => `${line}\n`).join(""));
}

/** A copy of an export, to be changed. */
export function copyOf(folder: string): string {
  const copy = `${folder}-changed`;
  if (existsSync(copy)) rmSync(copy, { recursive: true });
  cpSync(folder, copy, { recursive: true });
  return copy;
}

export const lineFileOf = (folder: string, file: string) => ({
  read: (): string[] => readFileSync(join(folder, file), "utf8").split("\n").slice(0, -1),
  write: (lines: readonly string[]): void =>
    writeFileSync(join(folder, file), lines.map((line) => `${line}\n`).join("")),
});
