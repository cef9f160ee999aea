import { closeSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { join, sep } from "node:path";

/** The path, or every file of a folder and its sub-folders by name, without hidden ones. @throws where there is none */
export function filesOf(path: string): readonly string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { recursive: true, encoding: "utf8" })
    .filter((name) => !name.split(sep).some((part) => part.startsWith(".")))
    .map((name) => join(path, name))
    .filter((file) => statSync(file).isFile())
    .sort();
}

export interface Line {
  /** From 1 on. */
  readonly number: number;
  /** Undefined where its bytes are no UTF-8. */
  readonly text: string | undefined;
}

const lineBreak = 0x0a;
const chunkBytes = 64 * 1024;

/** The lines of a file of any size, without blank ones. @throws where it cannot be read */
export function* linesOf(path: string): Generator<Line> {
  const fd = openSync(path, "r");
  try {
    let number = 0;
    let rest: Buffer[] = [];
    const chunk = Buffer.alloc(chunkBytes);
    for (let read = readSync(fd, chunk); read > 0; read = readSync(fd, chunk)) {
      const bytes = Buffer.from(chunk.subarray(0, read));
      let from = 0;
      for (let at = bytes.indexOf(lineBreak); at >= 0; at = bytes.indexOf(lineBreak, from)) {
        number += 1;
        const line = Buffer.concat([...rest, bytes.subarray(from, at)]);
        if (line.length > 0) yield { number, text: decoded(line) };
        rest = [];
        from = at + 1;
      }
      if (from < bytes.length) rest.push(bytes.subarray(from));
    }
    if (rest.length > 0) yield { number: number + 1, text: decoded(Buffer.concat(rest)) };
  } finally {
    closeSync(fd);
  }
}

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
