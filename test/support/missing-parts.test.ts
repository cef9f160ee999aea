import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startChild } from "./src/child.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-parts-"));
  for (const name of ["sh", "env"]) symlinkSync(`/usr/bin/${name}`, join(folder, name));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Puts a program on the PATH of these tests. */
function program(name: string, script = ""): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, name), 0o755);
}

/** Runs Node with nothing on the PATH but those programs. */
async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = startChild(process.execPath, args, { env: { PATH: folder, NO_COLOR: "1", ...env } });
  return { code: await child.exited, output: child.output() };
}

const account = (uid: number) => `--import=data:text/javascript,process.getuid=()=>${uid}`;
const [root, ordinary] = [account(0), account(1000)];

describe("without promtool and Redis", () => {
  const vitest = fileURLToPath(new URL("vitest.mjs", import.meta.resolve("vitest/package.json")));
  const config = fileURLToPath(new URL("fixtures/vitest.config.ts", import.meta.url));
  const report = () => join(folder, "report.json");
  const runTests = (env: Readonly<Record<string, string>>) =>
    run([vitest, "run", `--config=${config}`], { REPORT: report(), ...env });
  const results = (): Record<string, string> => {
    const { testResults } = JSON.parse(readFileSync(report(), "utf8"));
    return Object.fromEntries(
      testResults[0].assertionResults.map((test: { fullName: string; status: string }) => [test.fullName, test.status]),
    );
  };
  beforeEach(() => program("openssl"));

  test("the tests that need them are skipped by name, and the last line counts them and names the packages", async () => {
    const { code, output } = await runTests({});
    expect({ code, output: output.trim().split("\n").slice(-2) }).toEqual({
      code: 0,
      output: [
        expect.stringMatching(/^1 passed, 0 failed, 5 skipped in \d+s$/),
        "Skipped: 4 without promtool (apt-get install prometheus), 1 without promtool and redis-server (apt-get install prometheus redis-server)",
      ],
    });
    expect(results()).toEqual({
      "a test (skipped: needs promtool)": "skipped",
      "row 1 of a table (skipped: needs promtool)": "skipped",
      "row 2 of a table (skipped: needs promtool)": "skipped",
      "suite one (skipped: needs promtool) a test of a suite (skipped: needs promtool)": "skipped",
      "a test of two parts (skipped: needs promtool and redis-server)": "skipped",
      "a test whose part is there": "passed",
    });
  });

  test("in CI they run and fail, where the parts could have been installed", async () => {
    program("sudo");
    expect((await runTests({ CI: "true" })).code).toBe(1);
    expect(results()).toMatchObject({ "a test": "passed", "a test of two parts": "failed" });
  });
});

describe("the set-up", () => {
  const script = fileURLToPath(new URL("src/set-up.ts", import.meta.url));
  const setUp = async (as: string) => {
    const { code, output } = await run([as, script]);
    return { code, lines: output.trim().split("\n") };
  };
  const apt = `echo "$*" >> ${"$"}{0%/*}/apt.log`;
  const bringing = (names: string) =>
    `${apt}\ncase "$*" in *" install "*) for name in ${names}; do : > "${"$"}{0%/*}/$name"; chmod 755 "${"$"}{0%/*}/$name"; done;; esac`;
  const aptLog = () => readFileSync(join(folder, "apt.log"), "utf8");
  beforeEach(() => {
    const present = [
      "openssl",
      "ip",
      "jq",
      "curl",
      "python3",
      "script",
      "nginx",
      "lighttpd",
      "chromium",
      "postgres",
      "initdb",
      "pg_basebackup",
    ];
    for (const name of present) program(name);
    symlinkSync("/usr/bin/chmod", join(folder, "chmod"));
  });

  test("as root installs the missing parts, with one line that says what and why", async () => {
    program("apt-get", bringing("redis-server promtool"));
    expect(await setUp(root)).toEqual({
      code: 0,
      lines: [
        "Installing with apt-get: redis-server (to run the service on a real cache store), promtool (to check metrics, alerts and dashboards)",
      ],
    });
    expect(aptLog()).toMatch(/ install -y --no-install-recommends redis-server prometheus\n$/);
    expect(await setUp(root)).toEqual({ code: 0, lines: [""] });
  });

  test("as another account installs with sudo", async () => {
    program("sudo", 'shift; exec "$@"');
    program("true");
    program("apt-get", bringing("redis-server promtool"));
    expect((await setUp(ordinary)).lines).toHaveLength(1);
    expect(aptLog()).toContain("redis-server prometheus");
  });

  test.each([
    ["as another account without sudo", ordinary, "this account is not root and has no sudo without a password"],
    ["where apt-get fails", root, "E: Unable to locate package"],
  ])("%s names the missing parts and how to get them, and the tests run", async (_, as, reason) => {
    program("apt-get", 'echo "E: Unable to locate package" >&2; exit 100');
    const { code, lines } = await setUp(as);
    expect({ code, lines: lines.slice(-2) }).toEqual({
      code: 0,
      lines: [
        `Not installed: redis-server, promtool; ${reason}.`,
        "Tests that need them are skipped. To run them: apt-get install redis-server prometheus",
      ],
    });
  });

  test("installs the other packages where one is unavailable", async () => {
    program(
      "apt-get",
      `case "$*" in *prometheus*) exit 100;; *install*) : > "${"$"}{0%/*}/redis-server"; chmod 755 "${"$"}{0%/*}/redis-server";; esac`,
    );
    expect((await setUp(root)).lines).toContain("Not installed: promtool; apt-get exited with 100.");
  });
});
