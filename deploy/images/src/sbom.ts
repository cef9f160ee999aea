import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Program } from "./programs.ts";

const execute = promisify(execFile);

/** The members of a CycloneDX document that are sorted here. */
interface Bill {
  readonly serialNumber: string;
  readonly metadata: object;
  readonly components: readonly { readonly "bom-ref": string }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
}

/**
 * The software bill of materials of a program: CycloneDX 1.7 from the lock file, with licences and digests. Reproducible:
 * unordered lists are sorted, and the optional serial number and time are left out.
 */
export async function billOfMaterials(program: Program, workspace: string): Promise<string> {
  const args = ["--filter", `@svc/${program}`, "--prod", "--no-optional", "sbom"];
  const format = ["--sbom-format", "cyclonedx", "--sbom-type", "application"];
  const { stdout } = await execute("pnpm", [...args, ...format], { cwd: workspace, maxBuffer: 64 * 1024 * 1024 });
  const { serialNumber: _, ...bill }: Bill = JSON.parse(stdout);
  const ordered = {
    ...bill,
    metadata: { ...bill.metadata, timestamp: undefined },
    components: sortedBy(bill.components, (component) => component["bom-ref"]),
    dependencies: sortedBy(bill.dependencies, ({ ref }) => ref).map(({ ref, dependsOn = [] }) => ({
      ref,
      dependsOn: dependsOn.toSorted(),
    })),
  };
  return `${JSON.stringify(ordered, null, 2)}\n`;
}

const sortedBy = <T>(items: readonly T[], keyOf: (item: T) => string): readonly T[] =>
  items.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
