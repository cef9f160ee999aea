import { readFile } from "node:fs/promises";
import { evidenceSentence } from "./evidence-finding.ts";
import { EvidenceUnreadable } from "./folder.ts";
import { parsedObject } from "./render.ts";
import { readKey } from "./statement.ts";
import { type EvidenceVerification, type EvidenceVerified, verifyEvidence } from "./verify-evidence.ts";

/** Thumbprints of the keys in a JWKS (RFC 7517 section 5). @throws {EvidenceUnreadable} where it has none. */
export function thumbprintsOf(jwks: string, place: string): ReadonlySet<string> {
  const listed = parsedObject(jwks)?.keys;
  const keys = Array.isArray(listed) ? listed.flatMap((jwk) => readKey(Object(jwk))?.kid ?? []) : [];
  if (keys.length === 0) throw new EvidenceUnreadable(`${place} is no key set, or has no key that could seal`);
  return new Set(keys);
}

export async function readThumbprints(path: string): Promise<ReadonlySet<string>> {
  const text = await readFile(path, "utf8").catch(() => {
    throw new EvidenceUnreadable(`${path} cannot be read`);
  });
  return thumbprintsOf(text, path);
}

export interface EvidenceReport extends EvidenceVerification {
  readonly json?: boolean | undefined;
  print(line: string): void;
}

/**
 * Verifies and prints each finding and the totals.
 * @returns 0: nothing was found. 1: the export is not as it was sealed. 2: no trusted key was given, so nothing is proven.
 * @throws {EvidenceUnreadable} where the folder has no complete export.
 */
export async function reportEvidence({ json = false, print, ...verification }: EvidenceReport): Promise<0 | 1 | 2> {
  const verifying = verifyEvidence(verification);
  let found = 0;
  let step = await verifying.next();
  for (; !step.done; step = await verifying.next()) {
    found++;
    print(json ? JSON.stringify(step.value) : `✗ ${evidenceSentence(step.value)}`);
  }
  const isTrusted = verification.trusted !== undefined;
  const verdict = found > 0 ? false : isTrusted ? true : null;
  if (json) print(JSON.stringify({ intact: verdict, findings: found, trusted: isTrusted, ...jsonOf(step.value) }));
  else for (const line of summary(step.value, found, isTrusted)) print(line);
  return verdict === null ? 2 : verdict ? 0 : 1;
}

const jsonOf = ({ head, ...verified }: EvidenceVerified) => ({
  ...verified,
  head: head && { batch: head.batch, hash: head.hash, kid: head.kid, sealed_at: head.sealedAt },
});

function* summary(verified: EvidenceVerified, found: number, isTrusted: boolean): Generator<string> {
  const { batches, rows, retired, since, until, head } = verified;
  const verdict = found > 0 ? `✗ ${found} found` : isTrusted ? "✓ intact" : "! consistent, but not proven";
  yield `${verdict}: ${rows} rows in ${batches} batches checked`;
  yield `  every sealed row from ${since} to ${until}`;
  if (retired > 0) yield `  ${retired} rows are past retention`;
  if (head === null) return;
  yield `  the newest seal is batch ${head.batch}, ${head.hash}`;
  yield `  it is of ${head.sealedAt} and names the key ${head.kid}`;
  if (!isTrusted) yield "  get the issuer's keys from the issuer, and give them: --jwks FILE, or --key THUMBPRINT";
}
