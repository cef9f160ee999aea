import { createHash } from "node:crypto";

/** A leaf and a node are hashed under prefixes of their own, so that neither is accepted as the other (RFC 6962 section 2.1). */
const leafPrefix = Uint8Array.of(0);
const nodePrefix = Uint8Array.of(1);

const sha256 = (...parts: readonly (Uint8Array | string)[]): Uint8Array => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
};

export const leafHash = (bytes: Uint8Array | string): Uint8Array => sha256(leafPrefix, bytes);

const nodeHash = (left: Uint8Array, right: Uint8Array): Uint8Array => sha256(nodePrefix, left, right);

/** The largest power of two below `size`; `size` at least 2. */
const splitOf = (size: number): number => 1 << (31 - Math.clz32(size - 1));

/** The root over leaf hashes (RFC 6962 section 2.1); of none it is the hash of nothing. */
export function merkleRoot(leaves: readonly Uint8Array[]): Uint8Array {
  const [first] = leaves;
  if (first === undefined) return sha256();
  if (leaves.length === 1) return first;
  const split = splitOf(leaves.length);
  return nodeHash(merkleRoot(leaves.slice(0, split)), merkleRoot(leaves.slice(split)));
}

/** The audit path of the leaf at `index`, from its sibling up (RFC 6962 section 2.1.1). */
export function auditPath(leaves: readonly Uint8Array[], index: number): readonly Uint8Array[] {
  if (leaves.length <= 1) return [];
  const split = splitOf(leaves.length);
  const [left, right] = [leaves.slice(0, split), leaves.slice(split)];
  return index < split
    ? [...auditPath(left, index), merkleRoot(right)]
    : [...auditPath(right, index - split), merkleRoot(left)];
}

/** Root and every leaf's audit path, each hash in base64url, with each node hashed once. */
export function merkleTree(leaves: readonly Uint8Array[]): { root: string; paths: readonly (readonly string[])[] } {
  const paths: string[][] = leaves.map(() => []);
  const build = (low: number, high: number): { bytes: Uint8Array; text: string } => {
    if (high - low <= 1) return withText(leaves[low] ?? sha256());
    const split = low + splitOf(high - low);
    const [left, right] = [build(low, split), build(split, high)];
    for (let index = low; index < high; index++) paths[index]?.push(index < split ? right.text : left.text);
    return withText(nodeHash(left.bytes, right.bytes));
  };
  return { root: build(0, leaves.length).text, paths };
}

const withText = (bytes: Uint8Array) => ({ bytes, text: Buffer.from(bytes).toString("base64url") });

export interface Place {
  readonly index: number;
  readonly size: number;
}

/** The root that a leaf and its path lead to; undefined where a path of that length leads nowhere in such a tree. */
export function rootOfPath(leaf: Uint8Array, path: readonly Uint8Array[], { index, size }: Place) {
  if (!Number.isInteger(index) || !Number.isInteger(size) || index < 0 || index >= size) return undefined;
  return climb(leaf, path, { index, size });
}

function climb(leaf: Uint8Array, path: readonly Uint8Array[], { index, size }: Place): Uint8Array | undefined {
  const sibling = path.at(-1);
  if (size === 1) return sibling === undefined ? leaf : undefined;
  if (sibling === undefined) return undefined;
  const split = splitOf(size);
  const below = path.slice(0, -1);
  if (index < split) {
    const left = climb(leaf, below, { index, size: split });
    return left && nodeHash(left, sibling);
  }
  const right = climb(leaf, below, { index: index - split, size: size - split });
  return right && nodeHash(sibling, right);
}
