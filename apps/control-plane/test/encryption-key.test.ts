import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { encryptionKeyOf } from "../src/start/encryption-key.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "encryption-key-"));
});
afterEach(() => rm(folder, { recursive: true }));

const file = () => join(folder, "key-encryption-key");

test("a configured key is used, and no file is written", async () => {
  const key = new Uint8Array(32).fill(1);
  expect(await encryptionKeyOf(key, folder)).toBe(key);
  expect(await readdir(folder)).toEqual([]);
});

describe("without the setting", () => {
  test("a key is generated, stored readable by its owner alone, and read again", async () => {
    const made = await encryptionKeyOf(undefined, join(folder, "new", "data"));
    expect(made).toHaveLength(32);
    expect(await encryptionKeyOf(undefined, join(folder, "new", "data"))).toEqual(made);
    expect((await stat(join(folder, "new", "data", "key-encryption-key"))).mode & 0o777).toBe(0o600);
  });

  test("processes that start together share one key, and leave no other file", async () => {
    const keys = await Promise.all(Array.from({ length: 50 }, () => encryptionKeyOf(undefined, folder)));
    for (const key of keys) expect(Buffer.from(key).equals(keys[0] ?? Buffer.of())).toBe(true);
    expect(keys[0]).toHaveLength(32);
    expect(await readdir(folder)).toEqual(["key-encryption-key"]);
  });

  test.each([0, 31, 33])("a stored key of %i bytes stops the start with a remedy", async (bytes) => {
    await writeFile(file(), new Uint8Array(bytes));
    await expect(encryptionKeyOf(undefined, folder)).rejects.toThrow(
      /key-encryption-key holds no key.*put the file back/,
    );
  });

  test("an unreadable folder is an error, and no second key is generated", async () => {
    await writeFile(file(), "x");
    await expect(encryptionKeyOf(undefined, file())).rejects.toThrow(/EEXIST|ENOTDIR/);
  });
});
