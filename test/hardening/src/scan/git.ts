import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isText, type Text } from "./secrets.ts";

const git = (folder: string, ...args: readonly string[]): string =>
  execFileSync("git", ["-C", folder, ...args], { encoding: "utf8", maxBuffer: 256 * 1024 * 1024 });

/** Every text that git tracks or would add, from the working tree. */
export function* textsOfTree(folder: string): Generator<Text> {
  const paths = git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0");
  for (const place of paths) {
    const content = place === "" ? undefined : contentOf(join(folder, place));
    if (content !== undefined && isText(content)) yield { place, content: content.toString("utf8") };
  }
}

/** Undefined for a file that is deleted but still tracked, or a link to a folder. */
function contentOf(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if (["ENOENT", "EISDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

/** Whether commits are missing, as in the shallow clone of a CI job. */
export const isShallow = (folder: string): boolean =>
  git(folder, "rev-parse", "--is-shallow-repository").trim() === "true";

/** Every text of any commit of any branch or tag, each once. */
export async function* textsOfHistory(folder: string): AsyncGenerator<Text> {
  const objects = git(folder, "rev-list", "--objects", "--all").trim().split("\n");
  const paths = new Map(objects.map((line) => [line.slice(0, 40), line.slice(41)]));
  const batch = spawn("git", ["-C", folder, "cat-file", "--batch"], { stdio: ["pipe", "pipe", "inherit"] });
  batch.stdin.end(`${[...paths.keys()].join("\n")}\n`);
  for await (const { name, content } of blobsOf(batch.stdout)) {
    if (isText(content)) yield { place: `${name.slice(0, 12)} ${paths.get(name)}`, content: content.toString("utf8") };
  }
  const [code] = batch.exitCode === null ? await once(batch, "exit") : [batch.exitCode];
  if (code !== 0) throw new Error("git cat-file did not read the history to its end");
}

/** `<name> <type> <size>\n<content>\n`, one object after the other (git-cat-file: BATCH OUTPUT). */
async function* blobsOf(output: AsyncIterable<Buffer>): AsyncGenerator<{ name: string; content: Buffer }> {
  let held = Buffer.alloc(0);
  for await (const chunk of output) {
    held = Buffer.concat([held, chunk]);
    for (let end = held.indexOf("\n"); end !== -1; end = held.indexOf("\n")) {
      const [name = "", type, size] = held.toString("latin1", 0, end).split(" ");
      const after = end + 1 + Number(size);
      if (held.length <= after) break;
      if (type === "blob") yield { name, content: held.subarray(end + 1, after) };
      held = held.subarray(after + 1);
    }
  }
}
