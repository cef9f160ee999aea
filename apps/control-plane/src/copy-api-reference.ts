import { readFileSync, writeFileSync } from "node:fs";
import { apiReferenceCopy } from "./http/docs-page.ts";

/**
 * Run before the package is packed: copies the renderer's browser bundle beside the page that loads it. It holds what it
 * needs; as a dependency the renderer would bring 190 packages to every installation.
 */
const installed = new URL("../", import.meta.resolve("@scalar/api-reference"));
const { name, version, license } = JSON.parse(readFileSync(new URL("package.json", installed), "utf8"));
const bundle = readFileSync(new URL("dist/browser/standalone.js", installed), "utf8");
const target = new URL(apiReferenceCopy, new URL("../dist/http/", import.meta.url));
writeFileSync(target, `/*! ${name} ${version}, ${license} licence, https://github.com/scalar/scalar */\n${bundle}`);
