import type { ScanResult } from "./finding.ts";
import { isShallow, textsOfHistory, textsOfTree } from "./git.ts";
import { type Finding, isKnown } from "./known-secrets.ts";
import { secretsIn, type Text } from "./secrets.ts";

/** Looks for credentials in the working tree and in the whole history. */
export async function scanSecrets(folder: string): Promise<ScanResult> {
  const tree = await unknownIn(textsOfTree(folder));
  const history = await unknownIn(textsOfHistory(folder));
  const findings = [...tree.findings, ...history.findings];
  if (findings.length > 0) return { kind: "found", findings: findings.map(toLine) };
  if (isShallow(folder))
    return { kind: "unknown", why: "the clone is shallow: fetch the whole history (fetch-depth: 0)" };
  return { kind: "clean", looked: `${tree.texts} files, ${history.texts} texts of the history` };
}

async function unknownIn(texts: Iterable<Text> | AsyncIterable<Text>) {
  const findings: Finding[] = [];
  let count = 0;
  for await (const text of texts) {
    count++;
    for (const finding of await secretsIn(text)) if (!isKnown(finding)) findings.push(finding);
  }
  return { findings, texts: count };
}

const toLine = ({ place, what, digest }: Finding): string =>
  `${place}: ${what}, SHA-256 ${digest}. Revoke it where it is one; list it in known-secrets.ts where it opens nothing.`;
