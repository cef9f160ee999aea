import type { ManifestPreview } from "@svc/client";
import { colors, print, printText, shown } from "../output.ts";

/** How each source was read, how tools changed, and the remedies for what differs. */
export async function printReport({ discovery, definitions, diff }: Omit<ManifestPreview, "status" | "discoveryOk">) {
  const { discoveryText } = await import("@svc/core");
  for (const read of discovery) printText(colors.dim(`  ${shown(discoveryText(read))}`));
  for (const change of definitions) await printChange(change);
  for (const { remedy } of diff) printText(`${colors.yellow("!")} ${shown(remedy)}`);
}

/** What the server's definition of a tool was at the version before, and what it is now. */
async function printChange({ ref, changed, before, now }: ManifestPreview["definitions"][number]): Promise<void> {
  print(`${colors.yellow("!")} ${shown(ref)} changed since the version before: ${changed.join(", ")}`);
  if (before === null || now === null) return;
  print(colored(await patchOf("before", JSON.parse(before), "now", JSON.parse(now))));
}

/** The differing lines of two documents, as a patch. */
export async function patchOf(beforeName: string, before: unknown, nowName: string, now: unknown) {
  const { createTwoFilesPatch } = await import("diff");
  return createTwoFilesPatch(beforeName, nowName, indented(before), indented(now));
}

export const indented = (document: unknown): string =>
  document === undefined ? "" : `${JSON.stringify(document, null, 2)}\n`;

export const colored = (patch: string): string =>
  patch
    .split("\n")
    .map(shown)
    .map((line) => (line.startsWith("+") ? colors.green(line) : line.startsWith("-") ? colors.red(line) : line))
    .join("\n");
