import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const binaries = {
  bun: { x64: "@oven/bun-linux-x64/bin/bun", arm64: "@oven/bun-linux-aarch64/bin/bun" },
  node22: { x64: "node-22-linux-x64/bin/node", arm64: "node-22-linux-arm64/bin/node" },
  deno: { x64: "@deno/linux-x64-glibc/deno", arm64: "@deno/linux-arm64-glibc/deno" },
} as const;

export type Runtime = keyof typeof binaries;

/** The runtime's program from its npm package; undefined where none is installed for this machine. */
export function binaryOf(runtime: Runtime): string | undefined {
  const { arch } = process;
  if (arch !== "x64" && arch !== "arm64") return undefined;
  const path = fileURLToPath(new URL(`../node_modules/${binaries[runtime][arch]}`, import.meta.url));
  return existsSync(path) ? path : undefined;
}

interface TestedNode {
  readonly name: string;
  readonly node: string | undefined;
}

const oldest = binaryOf("node22");

/** The Node that the tests run on, and the oldest that `engines` of every package names. */
export const nodes: readonly TestedNode[] = [
  { name: `Node ${process.versions.node}`, node: process.execPath },
  { name: `Node 22.20${oldest ? "" : " (skipped: no binary of it for this machine is on npm)"}`, node: oldest },
];
