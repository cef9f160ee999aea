import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const binaries = {
  bun: { x64: "@oven/bun-linux-x64/bin/bun", arm64: "@oven/bun-linux-aarch64/bin/bun" },
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
