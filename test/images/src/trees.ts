import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildTree, type Program } from "@svc/images";

export const workspace = fileURLToPath(new URL("../../../", import.meta.url));

export interface Trees {
  readonly work: string;
  /** The folder of a program's tree. */
  of(program: Program): string;
  remove(): void;
}

/** The trees of some programs, in a folder that every account may enter. */
export async function buildTrees(chosen: readonly Program[]): Promise<Trees> {
  const work = mkdtempSync(join(tmpdir(), "svc-trees-"));
  // The programs' account needs access.
  chmodSync(work, 0o711);
  const trees = join(work, "trees");
  mkdirSync(trees);
  const of = (program: Program) => join(trees, program);
  await Promise.all(chosen.map((program) => buildTree({ program, workspace, out: of(program) })));
  return { work, of, remove: () => rmSync(work, { recursive: true, force: true }) };
}
