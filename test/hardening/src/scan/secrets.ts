import { createHash } from "node:crypto";
import { lintSource } from "@secretlint/core";
import { creator as recommended } from "@secretlint/secretlint-rule-preset-recommend";
import type { Finding } from "./known-secrets.ts";

/** A text and its place: a path, or a path in a commit. */
export interface Text {
  readonly place: string;
  readonly content: string;
}

const rules = [{ id: "@secretlint/secretlint-rule-preset-recommend", rule: recommended }];

/**
 * Finds credentials by the rules of secretlint: private keys, connection strings with a password, tokens of well-known
 * services. A finding has a digest instead of its text.
 */
export async function secretsIn({ place, content }: Text): Promise<readonly Finding[]> {
  const { messages } = await lintSource({
    source: { filePath: place, content, contentType: "text", ext: "" },
    options: { config: { rules }, maskSecrets: true },
  });
  return messages.map(({ ruleId, messageId, range: [from, to], loc }) => ({
    place: `${place}:${loc.start.line}`,
    what: `${messageId} (${ruleId.split("/").at(-1)})`,
    digest: createHash("sha256").update(content.slice(from, to)).digest("hex"),
  }));
}

/** Only text is read: like git, a file with a NUL is binary. */
export const isText = (content: Buffer): boolean => !content.subarray(0, 8_000).includes(0);
