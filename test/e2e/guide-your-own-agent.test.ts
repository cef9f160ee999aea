import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { type DevStack, freePort, programOf, spawnDev } from "@svc/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { officialServer } from "./src/stdio/servers.ts";

const guides = new URL("../../docs/guides/", import.meta.url);
const guide = readFileSync(new URL("your-own-agent.md", guides), "utf8");

/** The block behind each `<!-- walk: name -->`. */
const blocks = new Map(
  [...guide.matchAll(/<!-- walk: (\S+) -->\n```\w+\n([\s\S]*?)```/g)].map(([, name = "", code = ""]) => [name, code]),
);
/** What the reader types before enforcing; the example's own files and programs are there already. */
const typed = ["start", "token", "init", "next", "review", "again", "enforce"] as const;

let stack: DevStack;
let folder: string;
let shopPort: number;

/** Only the ports are this run's own. */
const here = (code: string): string => code.replaceAll(":9400", `:${shopPort}`).replaceAll("(9400,", `(${shopPort},`);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "svc-own-agent-"));
  shopPort = await freePort();
  const token = /SVC_ADMIN_TOKEN=(\S+)/.exec(blocks.get("start") ?? "")?.[1] ?? "";
  stack = await spawnDev(["--port", "0"], { SVC_ADMIN_TOKEN: token });
  const [node, server] = officialServer("filesystem");
  const files = {
    ...Object.fromEntries([...blocks].filter(([name]) => name.includes("."))),
    "bin/svc": `#!/bin/sh\nexec "${node}" "${programOf("@svc/cli/main")}" "$@"\n`,
    // In place of the registry: the same version.
    "bin/npx": `#!/bin/sh\nshift 2\nexec "${node}" "${server}" "$@"\n`,
  };
  mkdirSync(join(folder, "bin"));
  for (const [name, code] of Object.entries(files)) writeFileSync(join(folder, name), here(code));
  for (const name of ["svc", "npx"]) chmodSync(join(folder, "bin", name), 0o755);
});
afterAll(async () => {
  await stack?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** One shell for all, as the reader has one. */
async function type(...names: readonly string[]) {
  const code = names.map((name) => `echo "== ${name}"\n${here(blocks.get(name) ?? "exit 99")}`).join("\n");
  const shell = spawn("bash", ["-uc", `trap 'kill $(jobs -p)' EXIT\n${code}`], {
    cwd: folder,
    env: {
      PATH: [join(folder, "bin"), dirname(process.execPath), process.env.PATH].join(delimiter),
      HOME: folder,
      USER: "ada",
      SVC_CONTROL_PLANE_URL: stack.control_plane,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, [exitCode]] = await Promise.all([
    text(shell.stdout),
    text(shell.stderr),
    once(shell, "close"),
  ]);
  const parts = stdout.split(/^== (.*)\n/m);
  /** Why the commands failed, or the stack. */
  const why = `${stderr}\n${stack.child.output()}`;
  return { exitCode, stderr, why, of: (name: string) => parts[parts.indexOf(name) + 1] ?? "" };
}

test("the guide's walk goes from nothing to enforced, as it is typed", async () => {
  const { of, stderr, why, exitCode } = await type("prepare", "token", "init", "next", "review", "again", "enforce");
  expect(exitCode, why).toBe(0);
  const printed = of("init").split("Next:\n")[1] ?? "";
  const commands = printed
    .trimEnd()
    .split("\n")
    .map((line) => line.trim());
  expect(commands.map((line) => line.replace(/--user \S+/, '--user "$USER"'))).toEqual(
    blocks.get("next")?.trimEnd().split("\n"),
  );
  expect(of("next")).toMatch(/http:shop\/placeOrder +shop\.writes +TAINT_BLOCKED +open/);
  expect(of("next")).toMatch(/mcp:files\/write_file +files\.writes +TAINT_BLOCKED +open/);
  expect(of("next")).toContain("2 left");
  expect(of("review")).toContain("In force: clerk version 2, attested.");
  expect(of("again")).toContain("0 left: safe to enforce");
  expect(of("enforce")).toContain("Successfully wrote to order.txt");
  expect(stderr).toMatch(/6 calls guarded: 6 allowed, 0 denied\s*$/);
  expect(readFileSync(join(folder, "notes/order.txt"), "utf8")).toBe("ordered tea again");
});

/** YAML without the spaces that say nothing. */
const plain = (yaml: string): string => yaml.replaceAll(/^ +| (?=\])|(?<=\[) /gm, "");

test("the guide's walk has the number of commands that it names, and shows the line that it changes", () => {
  const commands = typed.flatMap((name) => (blocks.get(name) ?? "").replaceAll("\\\n", " ").trim().split("\n"));
  expect(commands).toHaveLength(12);
  expect(guide).toContain("After these twelve commands");
  const [, quoted = ""] = /```yaml\n(# review: untrusted[\s\S]*?)```/.exec(guide) ?? [];
  const changed = quoted.replace(", result_taint: untrusted_external", "");
  expect(changed).not.toBe(quoted);
  expect(plain(readFileSync(join(folder, "clerk.yaml"), "utf8"))).toContain(plain(changed));
});

test("an agent that does what its manifest does not declare is blocked", async () => {
  writeFileSync(
    join(folder, "agent.mjs"),
    `const answer = await fetch("http://127.0.0.1:${shopPort}/v1/orders/8", { method: "DELETE" });
     console.log(answer.status, answer.headers.get("x-svc-blocked"));`,
  );
  const { of, why } = await type("prepare", "token", "enforce");
  expect(of("enforce"), why).toMatch(/^4\d\d \w+/);
});
