import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildTree, type Program } from "@svc/images";

export const workspace = fileURLToPath(new URL("../../../", import.meta.url));

export interface Trees {
  readonly work: string;
  /** Where the tree of a program stands. */
  of(program: Program): string;
  remove(): void;
}

/** The trees of some programs, in a folder of their own that every account may pass through. */
export async function buildTrees(chosen: readonly Program[]): Promise<Trees> {
  const work = mkdtempSync(join(tmpdir(), "svc-trees-"));
  // Whoever the programs run as passes through.
  chmodSync(work, 0o711);
  const trees = join(work, "trees");
  mkdirSync(trees);
  const of = (program: Program) => join(trees, program);
  await Promise.all(chosen.map((program) => buildTree({ program, workspace, out: of(program) })));
  return { work, of, remove: () => rmSync(work, { recursive: true, force: true }) };
}
