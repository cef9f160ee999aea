import { readFileSync, writeFileSync } from "node:fs";
import { readmeFile, readmeOf } from "./readme.ts";

writeFileSync(readmeFile, readmeOf(readFileSync(readmeFile, "utf8")));
console.log("wrote the table of values of helm/agent-authorization-service/README.md");
