import { writeFileSync } from "node:fs";
import { files } from "./index.ts";

for (const [name, content] of files()) {
  writeFileSync(new URL(`../${name}`, import.meta.url), content);
  console.log(`wrote deploy/grafana/${name}`);
}
