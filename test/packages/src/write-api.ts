import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { apiReference, documented } from "./api-reference.ts";
import { workspace } from "./pack.ts";

/** Writes the API.md of every documented package. Run after `tsc -b`. */
for (const name of documented) writeFileSync(join(workspace, "packages", name, "API.md"), apiReference(name));
