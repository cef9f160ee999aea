import { describe, expect, test } from "vitest";
import { auditPath, leafHash, merkleRoot, rootOfPath } from "../src/merkle.ts";

/** The inputs and roots of Certificate Transparency's own reference tests (RFC 6962 section 2.1). */
const inputs = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];
const roots = [
  "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
  "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
  "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
  "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
  "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
  "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
  "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
  "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];
const leaves = inputs.map((input) => leafHash(Buffer.from(input, "hex")));
const hex = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString("hex");

describe("the tree of RFC 6962", () => {
  test.each(roots.map((root, index) => [index + 1, root] as const))("over %i leaves", (size, root) => {
    expect(hex(merkleRoot(leaves.slice(0, size)))).toBe(root);
  });

  test("over no leaves is the hash of the empty string", () => {
    expect(hex(merkleRoot([]))).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  });

  test.each(Array.from({ length: 8 }, (_, index) => index + 1))("of %i leaves: each path leads to the root", (size) => {
    const some = leaves.slice(0, size);
    for (const [index, leaf] of some.entries()) {
      const path = auditPath(some, index);
      expect(hex(rootOfPath(leaf, path, { index, size }))).toBe(hex(merkleRoot(some)));
      expect(rootOfPath(leaf, [...path, leaf], { index, size })).toBeUndefined();
    }
  });
});
