import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type CliStack, startCliStack } from "./stack.ts";
import { type Ended, main, svc } from "./svc.ts";

let stack: CliStack;
let home: string;
let file: string;

beforeAll(async () => {
  stack = await startCliStack();
});
afterAll(() => stack.stop());
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "svc-home-"));
  file = join(home, "svc", "contexts.json");
  return () => rmSync(home, { recursive: true });
});

const env = () => ({ XDG_CONFIG_HOME: home });

async function login(bearer: string, ...args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [main, "login", stack.controlPlane.url, ...args], {
    env: { PATH: process.env.PATH, ...env() },
  });
  child.stdin.end(bearer);
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (text) => {
    stdout += text;
  });
  child.stderr.on("data", (text) => {
    stderr += text;
  });
  const [code] = await once(child, "close");
  return { code, stdout, stderr };
}

const admin = () => stack.env.SVC_ADMIN_TOKEN ?? "";
const audit = () => stack.env.SVC_AUDIT_TOKEN ?? "";
const identity = () => stack.env.SVC_IDENTITY_TOKEN ?? "";

test("a login keeps address and bearer for later commands, for its owner alone", async () => {
  const { code, stdout } = await login(`${admin()}\n`, "--context", "mine");
  expect([code, stdout]).toEqual([
    0,
    expect.stringContaining("context mine is the current one: admin, audit, identity"),
  ]);
  expect(stdout).not.toContain(admin());
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect((await svc(["agents", "list"], env())).code).toBe(0);
  expect((await svc(["context", "list"], env())).stdout).toBe(
    `* mine  ${stack.controlPlane.url}  admin, audit, identity\n`,
  );
});

test("a bearer opens the planes that accept it, and a second login adds others", async () => {
  expect((await login(audit(), "--json")).stdout).toContain('"planes":["audit","identity"]');
  expect((await svc(["agents", "list"], env())).stderr).toContain("no bearer of the admin plane");
  expect((await svc(["decisions"], env())).code).toBe(0);
  expect((await login(identity(), "--json")).stdout).toContain('"planes":["identity"]');
  expect((await svc(["decisions"], env())).code).toBe(0);
  await login(admin());
  expect((await svc(["agents", "list"], env())).code).toBe(0);
});

test("a bearer that no plane accepts is refused, and nothing is kept", async () => {
  const { code, stderr } = await login("not-a-bearer-of-this-control-plane-0123");
  expect([code, stderr]).toEqual([2, expect.stringContaining("refuses the bearer on every plane")]);
  expect(existsSync(file)).toBe(false);
});

test("a context's bearer is sent to its own address alone", async () => {
  await login(admin(), "--context", "mine");
  const elsewhere = { ...env(), SVC_CONTROL_PLANE_URL: "http://127.0.0.1:9" };
  expect((await svc(["agents", "list"], elsewhere)).stderr).toContain("no bearer of the admin plane");
  expect((await svc(["agents", "list", "--control-plane", "http://127.0.0.1:9"], env())).stderr).toContain("no bearer");
  expect((await svc(["agents", "list", "--context", "mine"], elsewhere)).code).toBe(0);
});

test("a context that is named has its own bearers before those of the environment", async () => {
  await login(admin(), "--context", "mine");
  const other = { ...env(), SVC_ADMIN_TOKEN: "of-another-control-plane-0123456789abcdef" };
  expect((await svc(["agents", "list", "--context", "mine"], other)).code).toBe(0);
});

test("a file that others can read is refused", async () => {
  await login(admin());
  chmodSync(file, 0o640);
  const { code, stderr } = await svc(["agents", "list"], env());
  expect([code, stderr]).toEqual([2, expect.stringMatching(/others can read .*contexts\.json[\s\S]*chmod 600/)]);
});

test("contexts are chosen and forgotten by name", async () => {
  await login(admin(), "--context", "one");
  await login(admin(), "--context", "two");
  expect((await svc(["context", "use", "one"], env())).stdout).toBe("one is the current context\n");
  expect((await svc(["context", "use", "three"], env())).stderr).toContain("there is no context three");
  expect((await svc(["context", "remove", "one"], env())).code).toBe(0);
  expect(readFileSync(file, "utf8")).not.toContain('"one"');
  expect((await svc(["agents", "list", "--context", "one"], env())).stderr).toContain("There are: two.");
});

test.each([
  ["authz.example.com", "is no address"],
  ["http://10.1.2.3:8080", "in plain text"],
])("a login at %s is refused before a bearer is read", async (address, message) => {
  expect((await svc(["login", address], env())).stderr).toContain(message);
});
