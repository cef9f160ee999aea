import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { startFaultProxy, waitUntil } from "@svc/test-support";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type CliStack, startClerkStack } from "./stack.ts";
import { main, start, svc } from "./svc.ts";

let stack: CliStack;
/** Where a run has its files. */
let temporary: string;

beforeAll(async () => {
  stack = await startClerkStack();
  temporary = join(stack.folder, "tmp");
  mkdirSync(temporary);
});
afterAll(() => stack.stop());
// However a run ended.
afterEach(() => expect(readdirSync(temporary)).toEqual([]));

const run = (user: string, ...command: readonly string[]) => [
  ...["run", "--scope", "books", "--user", user, "--agent", "clerk", "--upstreams", stack.upstreams, "--", ...command],
];
const node = (script: string): readonly string[] => [process.execPath, "--input-type=module", "-e", script];

const env = (): Record<string, string> => ({ ...stack.env, TMPDIR: temporary });

/** Every secret setting, by the generated tables of the apps. */
const secretNames = ["control-plane", "pep", "injector"].flatMap((app) => {
  const readme = readFileSync(new URL(`../../${app}/README.md`, import.meta.url), "utf8");
  return [...readme.matchAll(/^\| `(\w+)` or `\1_FILE`/gm)].map(([, name = ""]) => name);
});

/** As an operator's shell may hold them; those of the planes are in force. */
const secrets = (): Record<string, string> => ({
  PGPASSWORD: "planted-PGPASSWORD",
  ...Object.fromEntries(secretNames.map((name) => [name, `planted-${name}`])),
  ...Object.fromEntries(Object.entries(stack.env).filter(([name]) => name.endsWith("_TOKEN"))),
});

/** What an agent can read that looks for secrets: its environment, all processes, open and temporary files. */
const probe = `
  import { fstatSync, readdirSync, readFileSync } from "node:fs";
  import { join } from "node:path";
  const read = (file) => { try { return readFileSync(file, "utf8"); } catch { return ""; } };
  const list = (folder, options) => { try { return readdirSync(folder, options); } catch { return []; } };
  const processes = list("/proc").filter((name) => /^\\d+$/.test(name)).map((pid) => ({
    pid: Number(pid),
    parent: Number(/^\\d+ \\(.*\\) \\S (\\d+)/s.exec(read("/proc/" + pid + "/stat"))?.[1]),
    text: read("/proc/" + pid + "/environ") + read("/proc/" + pid + "/cmdline"),
  }));
  const files = list(process.env.TMPDIR, { recursive: true }).map((name) => join(process.env.TMPDIR, name));
  const isFile = (fd) => { try { return fstatSync(fd).isFile(); } catch { return false; } };
  const open = list("/proc/self/fd").map(Number).filter((fd) => fd > 2 && isFile(fd)).map((fd) => "/proc/self/fd/" + fd);
  console.log(JSON.stringify({ own: process.env, processes, files: files.map(read), open: open.map(read) }));`;

interface Probed {
  readonly own: Record<string, string>;
  readonly processes: readonly { readonly pid: number; readonly parent: number; readonly text: string }[];
  readonly files: readonly string[];
  readonly open: readonly string[];
}

/** A process and all below it. */
function treeOf(root: number, { processes }: Probed): Probed["processes"] {
  const below = processes
    .filter(({ parent }) => parent === root)
    .flatMap(({ pid }) => treeOf(pid, { processes } as Probed));
  return [...processes.filter(({ pid }) => pid === root), ...below];
}

async function probed(settings: Record<string, string>) {
  const running = start(run("ada", ...node(probe)), { ...env(), ...settings });
  const { code, stdout, stderr } = await running.ended;
  expect(code, stderr).toBe(0);
  const found: Probed = JSON.parse(stdout);
  return { ...found, tree: treeOf(running.pid, found) };
}

describe("an agent of svc run finds no secret of the operator", () => {
  test("in its own environment, in another process of the run, or in a file, where the shell exported them all", async () => {
    expect(secretNames).toEqual(expect.arrayContaining(["SVC_ADMIN_TOKEN", "DATABASE_URL", "SVC_KEY_ENCRYPTION_KEY"]));
    const { own, tree, files, open } = await probed(secrets());
    // svc itself, the enforcement point and the agent.
    expect(tree).toHaveLength(3);
    const readable = JSON.stringify([own, tree, files, open]);
    for (const [name, value] of Object.entries(secrets())) expect(readable, name).not.toContain(value);
    // Of the run's own authority there is the certificate alone.
    expect(files.some((text) => text.startsWith("-----BEGIN CERTIFICATE-----"))).toBe(true);
    expect(readable).not.toMatch(/PRIVATE KEY/);
    expect(Object.keys(own).filter((name) => name.startsWith("SVC_"))).toEqual(["SVC_PEP_URL"]);
  });

  test("nor where a file has it, where the settings name files", async () => {
    const folder = mkdtempSync(join(stack.folder, "files-"));
    const named = Object.entries(secrets()).map(([name, value]) => {
      const file = join(folder, `of-${name}`);
      writeFileSync(file, `${value}\n`);
      return [name, `${name}_FILE`, file] as const;
    });
    const direct = Object.fromEntries(named.map(([name]) => [name, ""]));
    const byFile = Object.fromEntries(named.map(([, setting, file]) => [setting, file]));
    const { own, tree, files, open } = await probed({ ...direct, ...byFile });
    const readable = JSON.stringify([own, tree, files, open]);
    for (const [name, , file] of named) expect(readable, name).not.toContain(file);
    for (const [name, value] of Object.entries(secrets())) expect(readable, name).not.toContain(value);
  });

  test.each([
    ["a pipe", `SVC_ADMIN_TOKEN_FILE=<(cat "$TOKEN") exec "$@"`],
    ["an open file", `SVC_ADMIN_TOKEN_FILE=/dev/fd/3 exec "$@" 3< "$TOKEN"`],
    ["an open file with a high number", `SVC_ADMIN_TOKEN_FILE=/dev/fd/40 exec "$@" 40< "$TOKEN"`],
  ])("nor where it came through %s", async (_name, line) => {
    const file = join(stack.folder, "admin-token");
    writeFileSync(file, stack.env.SVC_ADMIN_TOKEN ?? "");
    const { SVC_ADMIN_TOKEN: admin = "", SVC_AUDIT_TOKEN: _audit, SVC_IDENTITY_TOKEN: _identity, ...others } = env();
    const child = promisify(execFile)(
      "bash",
      ["-c", line, "bash", process.execPath, main, ...run("ada", ...node(probe))],
      {
        env: { PATH: process.env.PATH, TOKEN: file, ...others },
        maxBuffer: 64 * 1024 * 1024,
      },
    );
    const found: Probed = JSON.parse((await child).stdout);
    const readable = JSON.stringify([found.own, treeOf(child.child.pid ?? 0, found), found.files, found.open]);
    expect(readable).not.toContain(admin);
  });
});

test("a misspelt setting is named, although no program of the run gets it", async () => {
  const { code, stderr } = await svc(run("ada", "true"), { ...env(), SVC_PEP_MOED: "observe" });
  expect([code, stderr]).toEqual([2, expect.stringContaining("did you mean SVC_PEP_MODE?")]);
});

const sessionOf = async (user: string) => {
  const sessions = await stack.json("sessions", "list", "--user", user);
  expect(sessions).toHaveLength(1);
  return sessions[0];
};

const untilUp = "console.log('up'); setInterval(() => {}, 1e6);";

describe("nothing is consented to", () => {
  const badFile = (name: string, text: string) => {
    const file = join(stack.folder, name);
    writeFileSync(file, text);
    return file;
  };
  type Change = (args: readonly string[]) => readonly string[];
  const replaced =
    (before: () => string, after: () => string): Change =>
    (args) =>
      args.map((arg) => (arg === before() ? after() : arg));
  const upstreams = () => stack.upstreams;

  test.each<[string, number, Change, RegExp]>([
    [
      "the command does not exist",
      2,
      replaced(
        () => process.execPath,
        () => "/no/such/command",
      ),
      /cannot be run/,
    ],
    ["the command is no program", 2, replaced(() => process.execPath, upstreams), /cannot be run/],
    ["the upstreams file does not exist", 2, replaced(upstreams, () => "/no/such.yaml"), /no such file/i],
    [
      "the upstreams file is invalid",
      2,
      replaced(upstreams, () => badFile("bad.json", '{"upstreams": 7}')),
      /bad\.json: /,
    ],
    [
      "the upstreams file is a manifest",
      2,
      replaced(upstreams, () => badFile("manifest.json", '{"agent": "clerk", "manifest": {"scopes": {}}}')),
      /This is a manifest: --upstreams takes/,
    ],
    [
      "the scope does not exist",
      1,
      replaced(
        () => "books",
        () => "no-such-scope",
      ),
      /there is no scope "no-such-scope"\nsvc scopes list/,
    ],
    [
      "the agent has no part in the scope",
      1,
      replaced(
        () => "clerk",
        () => "nobody-else",
      ),
      /nobody-else is no entry agent of scope "books"[\s\S]*--agent clerk/,
    ],
  ])("where %s", async (_name, code, changed, message) => {
    const ended = await svc(changed(run("u-unheld", ...node(untilUp))), env());
    expect([ended.code, ended.stdout]).toEqual([code, ""]);
    expect(ended.stderr).toMatch(message);
    expect(await stack.json("sessions", "list", "--user", "u-unheld")).toEqual([]);
  });
});

describe("the session ends with the run", () => {
  test.each([
    { how: "by itself", user: "u-exit", command: node("process.exit(7)"), code: 7 },
    { how: "by a signal", user: "u-killed", command: node("process.kill(process.pid, 'SIGKILL')"), code: 128 + 9 },
  ])("where the command ended $how", async ({ user, command, code }) => {
    expect((await svc(run(user, ...command), env())).code).toBe(code);
    expect(await sessionOf(user)).toMatchObject({ status: "revoked" });
  });

  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("where %s ends svc run", async (signal) => {
    const user = `u-${signal.toLowerCase()}`;
    const running = start(run(user, ...node(untilUp)), env());
    await waitUntil("the command to run", () => running.stdout().includes("up"));
    running.kill(signal);
    const codes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };
    expect((await running.ended).code).toBe(codes[signal]);
    expect(await sessionOf(user)).toMatchObject({ status: "revoked" });
  });

  test("where a signal comes while the enforcement point starts, and the command never runs", async () => {
    const user = "u-early";
    // Its child processes get the flags too: the enforcement point that has a session never gets beyond this.
    const hold = "if (process.env.SVC_PEP_SESSION_FILE) await new Promise((end) => setTimeout(end, 600_000));";
    const flags = ["--import", `data:text/javascript,${encodeURIComponent(hold)}`];
    const running = start(run(user, ...node(untilUp)), env(), flags);
    await waitUntil("a session", async () => (await stack.json("sessions", "list", "--user", user)).length === 1);
    running.kill("SIGTERM");
    const { code, stdout } = await running.ended;
    expect([code, stdout]).toEqual([143, ""]);
    expect(await sessionOf(user)).toMatchObject({ status: "revoked" });
  });

  test("where the enforcement point does not start", async () => {
    const user = "u-bad";
    const settings = { ...env(), SVC_PEP_STATE_DIR: "/dev/null/state" };
    expect((await svc(run(user, ...node(untilUp)), settings)).code).toBe(1);
    expect(await sessionOf(user)).toMatchObject({ status: "revoked" });
  });

  test("and its token opens nothing afterwards", async () => {
    const script = `
      import { readdirSync, readFileSync } from "node:fs";
      const [folder] = readdirSync(process.env.TMPDIR);
      console.log(readFileSync(process.env.TMPDIR + "/" + folder + "/session.json", "utf8"));`;
    const { stdout } = await svc(run("u-token", ...node(script)), env());
    const { session_id, token } = JSON.parse(stdout);
    const call = { session_id, target: "http:ledger/read", target_kind: "tool", data_class: "finance.entries" };
    const response = await fetch(`${stack.controlPlane.url}/v1/authorize`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(call),
    });
    expect(await response.json()).toMatchObject({ decision: "deny", deny_reason: "SESSION_REVOKED" });
  });

  test("or svc run says that it did not, and how to end it", async () => {
    const proxy = await startFaultProxy(Number(new URL(stack.controlPlane.url).port));
    const settings = { ...env(), SVC_CONTROL_PLANE_URL: `http://127.0.0.1:${proxy.port}` };
    const running = start(run("u-lost", ...node(untilUp)), settings);
    await waitUntil("the command to run", () => running.stdout().includes("up"));
    await proxy.refuse();
    running.kill("SIGTERM");
    const { stderr } = await running.ended;
    await proxy.stop();
    const { session_id, status } = await sessionOf("u-lost");
    expect(status).toBe("active");
    expect(stderr).toContain(`svc sessions revoke ${session_id}`);
    rmSync(temporary, { recursive: true });
    mkdirSync(temporary);
  });
});
