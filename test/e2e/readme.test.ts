import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type DevStack, spawnDev } from "@svc/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

const cli = fileURLToPath(new URL("../../apps/cli/src/main.ts", import.meta.url));

/** The code block behind each `<!-- quickstart: name -->`. */
const blocks = new Map(
  [...readme.matchAll(/<!-- quickstart: (\w+) -->\n```sh\n([\s\S]*?)```/g)].map(([, name = "", code = ""]) => [
    name,
    code,
  ]),
);

let stack: DevStack;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "svc-readme-"));
  const token = /SVC_ADMIN_TOKEN=(\S+)/.exec(blocks.get("start") ?? "")?.[1] ?? "";
  stack = await spawnDev(["--with-example", "--port", "0"], { SVC_ADMIN_TOKEN: token });
});
afterAll(async () => {
  await stack.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Typed one block after the other in one shell; only the ports and the checkout are this run's own. */
async function type(...names: string[]): Promise<string> {
  const code = names.map((name) => blocks.get(name) ?? "exit 1").join("\n");
  const here = code
    .replaceAll("npx --yes pnpm@12.4.2 --silent svc", `"${process.execPath}" --conditions=@svc/source "${cli}"`)
    .replaceAll("localhost:8080", new URL(stack.control_plane).host)
    .replaceAll("localhost:16001", new URL(stack.pep).host);
  const { stdout } = await promisify(execFile)("bash", ["-euc", here], { cwd: folder });
  return stdout;
}

test("the README's quickstart starts the stack of its first block", () => {
  expect(blocks.get("start")).toMatch(/pnpm@\S+ dev --with-example/);
});

test("the README's quickstart gets the ledger's response to an allowed call", async () => {
  expect(JSON.parse(await type("consent", "allowed"))).toMatchObject({ entry: { id: "7" }, seen: { sub: "alice" } });
});

test("the README's quickstart gets a denied call with its reason, and its chain back to Alice", async () => {
  const output = await type("consent", "denied", "chain");
  expect(output).toContain('"acting_agent":"planner"');
  expect(output).toContain("TARGET_NOT_DECLARED");
  expect(output).toContain('"complete":true');
  expect(output).toContain('"user_sub":"alice"');
});
