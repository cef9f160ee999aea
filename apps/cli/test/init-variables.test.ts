import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { fileServer } from "./mcp-servers.ts";
import { svc } from "./svc.ts";

let folder: string;
const at = (name: string) => join(folder, name);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-init-"));
  writeFileSync(at("key.txt"), "a-key-of-47-characters\n", { mode: 0o600 });
  const needed = '[ "$API_KEY $LEVEL" = "a-key-of-47-characters warn" ] || { echo "no key" >&2; exit 3; }';
  writeFileSync(at("server.sh"), `${needed}\nexec ${fileServer(folder)}\n`);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const init = (...flags: readonly string[]) => {
  const stdio = ["--stdio", `files=sh "${at("server.sh")}"`];
  const files = ["--manifest", at("clerk.yaml"), "--upstreams", at("pep.yaml")];
  return svc(["init", "--agent", "clerk", "--yes", ...files, ...stdio, ...flags], { API_KEY: "of this shell" });
};

describe("a variable of a server over stdio", () => {
  test("is handed to it, and a secret stays in its own file", async () => {
    const { code, stdout, stderr } = await init(
      "--env",
      `files=API_KEY=@${at("key.txt")}`,
      "--env",
      "files=LEVEL=warn",
    );
    expect(code, stderr).toBe(0);
    const written = readFileSync(at("pep.yaml"), "utf8");
    expect(parse(written).upstreams[0].env).toEqual({ API_KEY: { file: at("key.txt") }, LEVEL: "warn" });
    expect(written + stdout + stderr).not.toContain("a-key-of-47");
  });

  test("is named where it is missing: the server gets none of the caller's own", async () => {
    const { code, stderr } = await init();
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/exit code 3\): no key\n[\s\S]*--env files=VARIABLE=@FILE/),
    ]);
  });

  test.each([
    ["with its secret on the command line", "files=API_KEY=a-key-of-47", /looks like a secret[\s\S]*API_KEY=@FILE/],
    ["of no source", "file=LEVEL=warn", /--env file=LEVEL: no --stdio source has this name/],
    ["without a value", "files=API_KEY", /--env files sets no variable\nWrite --env NAME=VARIABLE=@FILE/],
    ["of ours", "files=SVC_ADMIN_TOKEN=@key.txt", /a server gets no variable of this name/],
    ["in a file that is not there", "files=API_KEY=@/no/such", /\/no\/such cannot be read \(ENOENT\)\nCheck the path/],
  ])("%s is refused, and nothing is written", async (_case, text, message) => {
    const { code, stdout, stderr } = await init("--env", text);
    expect([code, stdout, stderr]).toEqual([2, "", expect.stringMatching(message)]);
    expect(stderr).not.toContain("a-key-of-47");
    expect(existsSync(at("pep.yaml"))).toBe(false);
  });
});
