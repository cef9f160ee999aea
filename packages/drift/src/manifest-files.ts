import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";
import type { DriftManifest } from "./declared-policies.ts";
import type { DriftError } from "./drift-report.ts";
import { filesOf } from "./trace-files.ts";

/** The body of `POST /v1/manifests`. The manifest itself is validated when it is compiled. */
const submission = z.strictObject({ agent: z.string(), manifest: z.unknown(), override: z.unknown().optional() });

const isManifestFile = (file: string): boolean => /\.(json|ya?ml)$/i.test(file);

/** Reads manifest files, and all `.json`, `.yaml` and `.yml` files of folders. */
export function readManifestFiles(paths: readonly string[]): {
  readonly manifests: readonly DriftManifest[];
  readonly errors: readonly DriftError[];
} {
  const manifests: DriftManifest[] = [];
  const errors: DriftError[] = [];
  const refuse = (file: string, message: string) => errors.push({ kind: "manifest_unreadable", message, file });

  if (paths.length === 0) errors.push({ kind: "manifest_unreadable", message: "no manifest was named" });
  for (const path of new Set(paths)) {
    const files = filesBehind(path);
    if (files === undefined) refuse(path, "there is no such file or folder, or it cannot be read");
    else if (files.length === 0) refuse(path, "no .json, .yaml or .yml file is in this folder");
    for (const file of files ?? []) {
      const read = readManifestFile(file);
      if (typeof read === "string") refuse(file, read);
      else manifests.push({ ...read, file });
    }
  }
  return { manifests, errors };
}

function filesBehind(path: string): readonly string[] | undefined {
  try {
    const files = filesOf(path);
    // A file given by its own path may have any name.
    return files[0] === path ? files : files.filter(isManifestFile);
  } catch {
    return undefined;
  }
}

/** The manifest, or why there is none. */
function readManifestFile(file: string): Omit<DriftManifest, "file"> | string {
  let value: unknown;
  try {
    const text = readFileSync(file, "utf8");
    value = /\.ya?ml$/i.test(file) ? parse(text) : JSON.parse(text);
  } catch {
    return "it cannot be read as JSON or YAML";
  }
  const { data } = submission.safeParse(value);
  return data ?? 'it is not {"agent": ..., "manifest": {...}}, the body of POST /v1/manifests';
}
