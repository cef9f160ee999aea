import { decodeBase64url, encodeBase64url, type KeyLookup } from "@svc/tokens";
import { z } from "zod";
import { signatureFault } from "./chain.ts";
import type { Entry } from "./entries.ts";
import { leafOf, type Row } from "./leaf.ts";
import { auditPath, rootOfPath } from "./merkle.ts";
import { readSeal, type Seal } from "./seal.ts";
import { type Source, sources } from "./sources.ts";

/** Proves offline that one row is in a sealed batch. */
export const proofSchema = z.strictObject({
  source: z.enum(sources),
  /** Each column as PostgreSQL writes it. */
  row: z.record(z.string(), z.string().nullable()),
  leaf_index: z.int().min(0),
  tree_size: z.int().min(1),
  /** Sibling hashes from the leaf up, in base64url (RFC 6962 section 2.1.1). */
  path: z.array(z.string()).max(64),
  /** The statement that holds the root, a compact JWS. */
  seal: z.string(),
});
export type Proof = z.infer<typeof proofSchema>;

export interface Proving {
  readonly source: Source;
  readonly row: Row;
  readonly statement: string;
  /** All of the batch. */
  readonly entries: readonly Entry[];
  readonly index: number;
}

export const makeProof = ({ source, row, statement, entries, index }: Proving): Proof => ({
  source,
  row: { ...row },
  leaf_index: index,
  tree_size: entries.length,
  path: auditPath(
    entries.map(({ leaf }) => leaf),
    index,
  ).map(encodeBase64url),
  seal: statement,
});

/** `not_included`: row and path do not lead to the root that was signed. */
export type ProofFault = "unreadable" | "unknown_key" | "signature" | "not_included";

export type ProofReading =
  | { readonly ok: true; readonly seal: Seal }
  | { readonly ok: false; readonly cause: ProofFault };

/** Checks a proof against the given keys alone. */
export async function checkProof(proof: Proof, keys: KeyLookup): Promise<ProofReading> {
  const read = readSeal(proof.seal);
  if (read === undefined) return { ok: false, cause: "unreadable" };
  const fault = await signatureFault(read, proof.seal, keys);
  if (fault !== undefined) return { ok: false, cause: fault };
  return isIncluded(proof, read.seal) ? { ok: true, seal: read.seal } : { ok: false, cause: "not_included" };
}

function isIncluded(proof: Proof, seal: Seal): boolean {
  const size = sources.reduce((sum, source) => sum + seal.counts[source], 0);
  const leaf = leafOf(proof.source, seal.format, proof.row);
  const path = proof.path.map((sibling) => decodeBase64url(sibling));
  if (leaf === undefined || proof.tree_size !== size || !path.every((sibling) => sibling !== undefined)) return false;
  const root = rootOfPath(leaf, path, { index: proof.leaf_index, size });
  return root !== undefined && encodeBase64url(root) === seal.root;
}
