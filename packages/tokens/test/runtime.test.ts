import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PrivateJwk } from "../src/index.ts";
import { toPublicJwk } from "../src/jwk.ts";
import { runtime as node } from "../src/runtime/node.ts";
import { runtime as web } from "../src/runtime/web.ts";

const header = { alg: "ES256", typ: "at+jwt", kid: "k" };

const ecJwk: PrivateJwk = {
  kty: "EC",
  crv: "P-256",
  x: "usWxHK2PmfnHKwXPS54m0kTcGJ90UiglWiGahtagnv8",
  y: "IBOL-C3BttVivg-lSreASjpkttcsz-1rb7btKLv8EX4",
  d: "V8kgd2ZBRuh2dgyVINBUqpPDr7BOMGcF22CQMIUHtNM",
};
// RFC 8037 appendix A.1.
const edJwk: PrivateJwk = {
  kty: "OKP",
  crv: "Ed25519",
  x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
  d: "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
};
const platforms = [
  ["node:crypto", node],
  ["WebCrypto", web],
] as const;
const keys = [
  ["ES256", ecJwk],
  ["EdDSA", edJwk],
] as const;

test("both runtimes hash and encode equally", () => {
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array(), fc.string({ unit: "binary" })), (data) => {
      expect(web.sha256Base64url(data)).toBe(node.sha256Base64url(data));
      expect(web.toBase64url(data)).toBe(node.toBase64url(data));
      const text = node.toBase64url(data);
      expect(Buffer.from(web.fromBase64url(text))).toEqual(Buffer.from(node.fromBase64url(text)));
    }),
  );
});

test.each(platforms)("%s decodes malformed base64url without an error", (_name, { fromBase64url }) => {
  for (const text of ["=", "+/", "A", "a b", "é", "\0"]) expect(() => fromBase64url(text)).not.toThrow();
});

describe.each(keys)("%s", (alg, jwk) => {
  const publicJwk = toPublicJwk(jwk);

  test.each(platforms)("a signature of %s verifies on both runtimes", async (_name, { signer }) => {
    const token = await (await signer(jwk))({ ...header, alg }, '{"sub":"é"}');
    for (const [, { checker }] of platforms) {
      const check = await checker(publicJwk);
      expect(await check(token)).toBe(true);
      expect(await check(`${token.slice(0, -1)}${token.endsWith("A") ? "Q" : "A"}`)).toBe(false);
    }
  });

  test.each(platforms)("%s rejects what the key did not sign, and never throws", async (_name, { signer, checker }) => {
    const token = await (await signer(jwk))({ ...header, alg }, "{}");
    const [head, , signature] = token.split(".");
    const check = await checker(publicJwk);
    for (const other of [
      `${head}.e30x.${signature}`,
      `${head}.e30.`,
      `${head}.e30.AAAA`,
      "",
      ".",
      "..",
      "abc",
      `${token}A`,
    ]) {
      expect(await check(other)).toBe(false);
    }
  });
});

test.each(platforms)("%s rejects a point that is not on its curve", async (_name, { checker, signer }) => {
  const off = { ...ecJwk, y: ecJwk.x };
  await expect((async () => checker(toPublicJwk(off)))()).rejects.toThrow();
  await expect((async () => signer(off))()).rejects.toThrow();
});

test.each(platforms.flatMap(([name, platform]) => keys.map(([alg, jwk]) => [name, alg, platform, jwk] as const)))(
  "%s rejects the private key of another %s pair",
  async (_name, _alg, { signer }, jwk) => {
    await expect((async () => signer({ ...jwk, d: `${"A".repeat(42)}E` }))()).rejects.toThrow();
  },
);

test("only runtime/node.ts uses Node's modules and globals", () => {
  const source = join(import.meta.dirname, "../src");
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  const naming = files.filter((file) =>
    /from "node:|\bBuffer\b|\bprocess\./.test(readFileSync(join(source, file), "utf8")),
  );
  expect(naming).toEqual([join("runtime", "node.ts")]);
});

test("both runtimes derive the same secret", () => {
  const secret = new Uint8Array(32).fill(7);
  expect(Buffer.from(web.derive(secret, "a purpose"))).toEqual(Buffer.from(node.derive(secret, "a purpose")));
  expect(Buffer.from(node.derive(secret, "another"))).not.toEqual(Buffer.from(node.derive(secret, "a purpose")));
});

describe("HMAC-SHA256", () => {
  const secret = new Uint8Array(32).fill(7);
  test.each(platforms)("a MAC of %s checks on both runtimes, and no other does", async (_name, { mac }) => {
    const token = await mac(secret).sign({ ...header, alg: "HS256" }, '{"sub":"é"}');
    for (const [, other] of platforms) {
      const { check } = other.mac(secret);
      expect(await check(token)).toBe(true);
      expect(await check(`${token.slice(0, -2)}${token.endsWith("AA") ? "QQ" : "AA"}`)).toBe(false);
      expect(await check(token.slice(0, token.lastIndexOf(".") + 1))).toBe(false);
      expect(await other.mac(new Uint8Array(32)).check(token)).toBe(false);
    }
  });
});
