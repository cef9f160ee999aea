import { withMemberText } from "@svc/tokens";
import { type Document, isCollection, isScalar, parseDocument, visit } from "yaml";
import { readManifestText } from "../manifest-file.ts";

/** A manifest as a file that `lint`, `diff` and `submit` read, with its stored text in it. */
export interface Envelope {
  readonly text: string;
  /** JSON has no comments. */
  readonly takesComments: boolean;
}

/**
 * YAML for people, if it reads back to the same bytes; else JSON around them.
 * @param docJson the stored text
 */
export function envelopeOf(agent: string, docJson: string): Envelope {
  const yaml = asYaml(agent, docJson);
  if (yaml !== undefined && readsAs(yaml, docJson)) return { text: yaml, takesComments: true };
  return { text: `${withMemberText({ agent }, "manifest", docJson)}\n`, takesComments: false };
}

function asYaml(agent: string, docJson: string): string | undefined {
  const document: Document = parseDocument(withMemberText({ agent }, "manifest", docJson));
  if (document.errors.length > 0) return undefined;
  visit(document, (_key, node) => {
    if (isCollection(node)) node.flow = node.items.length === 0;
    // JSON quotes every text; YAML quotes those that need it.
    if (isScalar(node) && typeof node.value === "string") delete node.type;
  });
  return document.toString({ lineWidth: 0 });
}

function readsAs(yaml: string, docJson: string): boolean {
  try {
    return readManifestText(yaml, "a manifest").manifestJson === docJson;
  } catch {
    return false;
  }
}
