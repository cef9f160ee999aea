import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { schemaFiles } from "./schema-files.ts";
import { root } from "./tree.ts";

/** Writes the schemas and their pages. Run after `tsc -b`. */
for (const [path, text] of Object.entries(schemaFiles())) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}
