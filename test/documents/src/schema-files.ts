import { execFileSync } from "node:child_process";
import { manifestSchema } from "@svc/core";
import { programOf } from "@svc/test-support";
import { type Schema, schemaPage } from "./schema-page.ts";

const written =
  "Written from the descriptions in the schema by `npx --yes pnpm@12.4.2 --filter @svc/test-documents schemas`.";

const json = (schema: object): string => `${JSON.stringify(schema, null, 2)}\n`;

/** What the enforcement point prints, as it was compiled. */
const upstreamsSchema = (): object =>
  JSON.parse(execFileSync(process.execPath, [programOf("@svc/pep/main"), "--schema"], { encoding: "utf8" }));

const reference = (page: string): string => `docs/reference/${page}.md`;

/** The schemas of the files that people write, for editors, and a page of each; by path from the root. */
export function schemaFiles(): Readonly<Record<string, string>> {
  const [manifest, upstreams] = [manifestSchema(), upstreamsSchema()];
  return {
    "docs/schemas/manifest.schema.json": json(manifest),
    "docs/schemas/upstreams.schema.json": json(upstreams),
    [reference("manifest-file")]: schemaPage(
      "Manifest file",
      `Every member of a manifest file, YAML or JSON. What they are for: [manifest](manifest.md). \`svc manifest schema\` prints the\n[schema](../schemas/manifest.schema.json), \`svc init\` writes a file with a comment that editors find it by, and \`svc manifest lint\`\nalso checks what a schema cannot say. ${written}`,
      manifest as Schema,
    ),
    [reference("upstreams-file")]: schemaPage(
      "Upstreams file",
      `Every member of \`pep.yaml\`, the file that \`SVC_PEP_CONFIG\` names. What they are for:\n[enforcement point](enforcement-point.md#upstreams-file). \`svc-pep --schema\` prints the [schema](../schemas/upstreams.schema.json),\nand \`svc-pep --print-config\` the file in force. ${written}`,
      upstreams as Schema,
    ),
  };
}
