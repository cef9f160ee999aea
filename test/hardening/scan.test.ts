import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { scanAdvisories } from "./src/scan/advisories.ts";
import { exitCodeOf, type ScanResult } from "./src/scan/finding.ts";
import { scanLicences, unlicensed } from "./src/scan/licences.ts";
import { pnpmIn, type Ran } from "./src/scan/pnpm.ts";
import { scanSecrets } from "./src/scan/scan-secrets.ts";

/** Generated, so that this file contains nothing that looks like a credential. */
const planted: readonly (readonly [what: string, make: () => string])[] = [
  [
    "a private key",
    () =>
      generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  ],
  ["a database's password", () => `DATABASE_URL=postgres://svc:${"Tr0ub4dor"}@database.internal:5432/svc`],
  ["a token of a forge", () => `token: ${"ghp"}_${"a1B2c3D4e5F6".repeat(3)}`],
  ["a cloud's access key", () => `AWS_SECRET_ACCESS_KEY=${"wJalrXUtnFEMI/K7MDENG/bPxRfiCY"}${"ZQXWMPLRTY"}`],
];

describe("secrets", () => {
  let folder: string;
  const git = (...args: readonly string[]) =>
    execFileSync("git", ["-C", folder, "-c", "user.name=a", "-c", "user.email=a@b.c", ...args], { stdio: "pipe" });
  const commit = (files: Readonly<Record<string, string>>) => {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
    git("add", "--all");
    git("commit", "--quiet", "--message", "x");
  };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-scan-"));
    git("init", "--quiet");
    commit({ "readme.md": "nothing here, nor in a picture\n", "picture.bin": "\u0000\u0001" });
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test("a tree and a history without secrets are clean, and the result counts what was read", async () => {
    expect(await scanSecrets(folder)).toEqual({ kind: "clean", looked: "1 files, 1 texts of the history" });
  });

  test.each(planted)("%s that is not committed yet is found, and not repeated", async (_what, make) => {
    const secret = make();
    writeFileSync(join(folder, "settings.txt"), secret);
    const result = await scanSecrets(folder);
    expect(result).toMatchObject({ kind: "found", findings: [expect.stringMatching(/^settings\.txt:1: /)] });
    expect(JSON.stringify(result)).not.toContain(secret.slice(-12));
  });

  test.each(planted)("%s that was committed and removed is found", async (_what, make) => {
    commit({ "settings.txt": make() });
    commit({ "settings.txt": "" });
    const found = { kind: "found", findings: [expect.stringMatching(/^[0-9a-f]{12} settings\.txt:1: /)] };
    expect(await scanSecrets(folder)).toMatchObject(found);
  });

  test("a shallow clone is unknown, not clean", async () => {
    commit({ "more.md": "more\n" });
    const clone = mkdtempSync(join(tmpdir(), "svc-scan-"));
    try {
      execFileSync("git", ["clone", "--quiet", "--depth=1", pathToFileURL(folder).href, clone], { stdio: "pipe" });
      expect(await scanSecrets(clone)).toMatchObject({ kind: "unknown", why: expect.stringMatching(/fetch-depth: 0/) });
    } finally {
      rmSync(clone, { recursive: true });
    }
  });
});

const answering =
  (ran: Partial<Ran>): (() => Promise<Ran>) =>
  async () => ({ code: 0, stdout: "", stderr: "", ...ran });

describe("licences", () => {
  test.each(["AGPL-3.0-only", "SSPL-1.0", "UNLICENSED", "Unknown", "SEE LICENSE IN LICENSE", "MIT OR made-up"])(
    "a package under %s is found",
    (licence) => {
      expect(unlicensed({ MIT: [{ name: "fine" }], [licence]: [{ name: "odd" }] })).toEqual([
        expect.stringContaining(`odd is under ${licence}`),
      ]);
    },
  );

  test("an unavailable list is unknown, not clean", async () => {
    expect(await scanLicences(answering({ code: 1, stderr: "no lock file\n" }))).toMatchObject({ kind: "unknown" });
  });
});

describe("advisories", () => {
  const advisory = { module_name: "odd", severity: "high", title: "Opens the door", url: "https://advisories.test/1" };

  test("one against a production dependency is found", async () => {
    const stdout = JSON.stringify({ advisories: { 1: advisory } });
    const found = { kind: "found", findings: [expect.stringContaining("odd: high: Opens the door")] };
    expect(await scanAdvisories(answering({ code: 1, stdout }))).toMatchObject(found);
  });

  test.each([
    [
      "with an advisory on a production dependency",
      { hono: [{ ...advisory, id: 1, vulnerable_versions: "<99" }] },
      "found",
    ],
    ["without advisories", {}, "clean"],
  ])("come from the registry through pnpm: one %s", async (_name, known, kind) => {
    const registry = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(known));
    });
    await new Promise<void>((resolve) => registry.listen(0, "127.0.0.1", resolve));
    const at = `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`;
    try {
      const pnpm = pnpmIn(fileURLToPath(new URL("../../", import.meta.url)));
      const result = await scanAdvisories((args) => pnpm([...args, "--registry", at]));
      expect(result.kind).toBe(kind);
      if (result.kind === "found") expect(result.findings).toEqual([expect.stringMatching(/^hono: high: Opens/)]);
    } finally {
      registry.closeAllConnections();
      registry.close();
    }
  });

  test("a registry without advisories is clean", async () => {
    expect(await scanAdvisories(answering({ stdout: '{"advisories":{}}' }))).toMatchObject({ kind: "clean" });
  });

  test.each(["", "Error: 405 at https://registry.test/x", "{}", "[]", "null"])(
    "a response of %j is unknown, not clean",
    async (stdout) => {
      const result = await scanAdvisories(answering({ stdout }));
      expect(result).toMatchObject({ kind: "unknown" });
      expect(JSON.stringify(result)).not.toContain("registry.test");
    },
  );
});

test.each<[ScanResult["kind"][], number]>([
  [["clean", "clean"], 0],
  [["clean", "unknown"], 2],
  [["unknown", "found"], 1],
  [[], 2],
])("%j exits with %i: a scan that could not run never passes", (kinds, code) => {
  const of = {
    clean: { kind: "clean", looked: "" },
    found: { kind: "found", findings: ["x"] },
    unknown: { kind: "unknown", why: "" },
  } as const;
  expect(exitCodeOf(kinds.map((kind) => of[kind]))).toBe(code);
});
