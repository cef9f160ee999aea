import { readFile } from "node:fs/promises";
import { type AgentManifest, type AgentManifestDocument, manifestCreate } from "@svc/core";
import { parseDocument } from "yaml";
import { Fault } from "./fault.ts";

/** The body of `POST /v1/manifests`, as JSON or YAML (docs/reference/drift.md#manifest-files). */
export interface ManifestFile {
  readonly agent: string;
  /** As in the file, without defaults. */
  readonly manifest: AgentManifestDocument;
  readonly override?: { readonly reason?: string };
}

export interface ReadManifest {
  readonly file: ManifestFile;
  /** With defaults. */
  readonly understood: AgentManifest;
}

/** @throws {Fault} with the file's faults */
export async function readManifestFile(file: string): Promise<ReadManifest> {
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new Fault(`${file} cannot be read`, "Check the path.", { cause, exitCode: 2 });
  });
  const document = parseDocument(text, { uniqueKeys: true });
  const [syntax] = document.errors;
  if (syntax !== undefined) throw new Fault(`${file}: ${syntax.message}`, "Correct the file's JSON or YAML.");
  const content: unknown = document.toJS();
  const read = manifestCreate.safeParse(content);
  if (read.success) return { file: content as ManifestFile, understood: read.data.manifest };
  const faults = read.error.issues.map(({ path, message }) => `  ${path.join(".") || "the file"}: ${message}`);
  throw new Fault(`${file} is no manifest:\n${faults.join("\n")}`, "svc manifest --help shows an example.");
}
