import { readFile } from "node:fs/promises";
import { text as textOf } from "node:stream/consumers";
import { manifestCreate, octalFault } from "@svc/core";
import { memberText, parseStrictJson } from "@svc/tokens";
import { type Document, isAlias, isMap, isScalar, isSeq, parseDocument, visit } from "yaml";
import type { z } from "zod";
import { Fault, notTried } from "./fault.ts";

/** As in the file, without defaults. */
export type ManifestFile = z.input<typeof manifestCreate>;

/** `svc manifest show --json` prints them beside the envelope; a submission sets them anew. */
const ofStoredVersion = ["version", "status", "attested_by", "created_at"] as const;

/**
 * Reads the envelope `{agent, manifest}`, JSON or YAML (docs/reference/drift.md#manifest-files). @param file a path, or
 * `-` for standard input @throws {Fault}
 */
export async function readManifestFile(file: string) {
  const text = await (file === "-" ? textOf(process.stdin) : readFile(file, "utf8")).catch((cause: unknown) => {
    throw notTried(`${file} cannot be read`, "Check the path.", cause);
  });
  return readManifestText(text, file === "-" ? "standard input" : file);
}

/** @param name of the text, for faults @throws {Fault} */
export function readManifestText(text: string, name: string) {
  const document = parseDocument(text, { uniqueKeys: true });
  const [syntax] = document.errors;
  if (syntax !== undefined) throw new Fault(`${name}: ${syntax.message}`, "Correct the file's JSON or YAML.");
  refuseOctals(name, document);
  const content: unknown = withoutStoredFacts(document.toJS());
  const read = manifestCreate.safeParse(content);
  if (read.success) {
    const file = content as ManifestFile;
    return {
      file,
      manifestJson: manifestText(text, document) ?? JSON.stringify(file.manifest),
      understood: read.data.manifest,
    };
  }
  if (typeof content === "object" && content !== null && Object.hasOwn(content, "upstreams")) {
    const advice = "Give it to --upstreams. svc manifest init writes a manifest.";
    throw new Fault(`${name} is an upstreams file, and no manifest`, advice);
  }
  const faults = read.error.issues.map(({ path, message }) => `  ${path.join(".") || "the file"}: ${message}`);
  throw new Fault(`${name} is no manifest:\n${faults.join("\n")}`, "svc manifest --help shows an example.");
}

function withoutStoredFacts(content: unknown): unknown {
  if (typeof content !== "object" || content === null || Array.isArray(content)) return content;
  return Object.fromEntries(Object.entries(content).filter(([name]) => !ofStoredVersion.some((fact) => fact === name)));
}
/** @throws {Fault} for a number that is another one to other readers of YAML */
function refuseOctals(file: string, document: Document): void {
  visit(document, {
    Scalar(_key, scalar) {
      const fault = octalFault(scalar);
      if (fault !== undefined) throw new Fault(`${file}: ${fault}`, "Correct the file's JSON or YAML.");
    },
  });
}

/** As it is submitted: of a JSON file byte for byte, of a YAML file with its order and the spelling of its numbers. */
const manifestText = (text: string, document: Document): string | undefined =>
  parseStrictJson(text).ok ? memberText(text, "manifest") : jsonOf(document.get("manifest", true), document);

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Of a YAML node; a value that `toJS` makes would lose what a JavaScript object does not keep. */
function jsonOf(node: unknown, document: Document): string {
  if (isAlias(node)) return jsonOf(node.resolve(document), document);
  if (isSeq(node)) return `[${node.items.map((item) => jsonOf(item, document)).join(",")}]`;
  if (isMap(node)) {
    const members = node.items.map(({ key, value }) => `${keyOf(key)}:${jsonOf(value, document)}`);
    return `{${members.join(",")}}`;
  }
  if (!isScalar(node)) return "null";
  const { value, source = "" } = node;
  return typeof value === "number" && jsonNumber.test(source) ? source : JSON.stringify(value);
}

const keyOf = (key: unknown): string => JSON.stringify(String(isScalar(key) ? key.value : key));
