import { readFile } from "node:fs/promises";
import { manifestCreate } from "@svc/core";
import { memberText, parseStrictJson } from "@svc/tokens";
import { parseDocument } from "yaml";
import type { z } from "zod";
import { Fault, notTried } from "./fault.ts";

/** As in the file, without defaults. */
export type ManifestFile = z.input<typeof manifestCreate>;

/** Reads the body of `POST /v1/manifests`, JSON or YAML (docs/reference/drift.md#manifest-files). @throws {Fault} */
export async function readManifestFile(file: string) {
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw notTried(`${file} cannot be read`, "Check the path.", cause);
  });
  const document = parseDocument(text, { uniqueKeys: true });
  const [syntax] = document.errors;
  if (syntax !== undefined) throw new Fault(`${file}: ${syntax.message}`, "Correct the file's JSON or YAML.");
  const content: unknown = document.toJS();
  const read = manifestCreate.safeParse(content);
  if (read.success) {
    // A JSON file's manifest is submitted byte for byte.
    const manifestJson = parseStrictJson(text).ok ? memberText(text, "manifest") : undefined;
    return { file: content as ManifestFile, manifestJson, understood: read.data.manifest };
  }
  const faults = read.error.issues.map(({ path, message }) => `  ${path.join(".") || "the file"}: ${message}`);
  throw new Fault(`${file} is no manifest:\n${faults.join("\n")}`, "svc manifest --help shows an example.");
}
