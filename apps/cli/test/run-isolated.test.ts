import { mkdtempSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { requires, waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, expect } from "vitest";
import { type GuardedStack, largeLength, nodeProgram, startGuardedStack } from "./guarded-run.ts";
import { keys, openTerminal } from "./terminal.ts";

const { describe, test } = requires("user namespaces");

let stack: GuardedStack;

beforeAll(async () => {
  stack = await startGuardedStack();
});
afterAll(() => stack.stop());

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

const run = (command: readonly string[], env = {}) => stack.run(["--isolate"], command, env);

describe("with svc run --isolate nothing gets past the enforcement point", () => {
  test("a call by the proxy variables or the base address is guarded", async () => {
    const text = `for (const url of ["https://bank.internal/read", process.env.SVC_PEP_URL + "/ledger/read"])
      console.log((await (await fetch(url)).text()).trim());`;
    const { stdout, stderr } = await run(nodeProgram(text)).ended;
    expect(stdout, stderr).toBe("bank /read Bearer ey\nledger /read\n");
    expect(stderr).toContain("2 calls guarded: 2 allowed");
  });

  test("a direct connection fails, to an upstream, the control plane and the network, by whatever address", async () => {
    const { port } = new URL(stack.controlPlane.url);
    const places = [stack.bankHost, `127.0.0.1:${port}`, "1.1.1.1:443", "[2606:4700::1111]:443", "169.254.169.254:80"];
    const text = `
      import { connect } from "node:net";
      for (const place of ${JSON.stringify(places)}) {
        const { hostname, port } = new URL("http://" + place);
        const socket = connect(Number(port || 80), hostname.replace(/^\\[|\\]$/g, ""));
        console.log(await new Promise((end) => {
          socket.once("connect", () => end("connected")).once("error", ({ code }) => end(code));
        }));
        socket.destroy();
      }`;
    const { stdout } = await run(nodeProgram(text)).ended;
    const results = stdout.trim().split("\n");
    expect(results).toHaveLength(places.length);
    for (const result of results) expect(result).toMatch(/^(ECONNREFUSED|ENETUNREACH|EADDRNOTAVAIL)$/);
  });

  test("the command has a network of its own, the same user, and no way back into the host's", async () => {
    const command = ["sh", "-c", "readlink /proc/self/ns/net; id -u; nsenter --target $PPID --net true; echo $?"];
    const { stdout, stderr } = await run(command).ended;
    const [namespace, user, entered] = stdout.trim().split("\n");
    expect(namespace).toMatch(/^net:/);
    expect(namespace).not.toBe(readlinkSync("/proc/self/ns/net"));
    expect(user).toBe(String(process.getuid?.()));
    expect(Number(entered), stderr).not.toBe(0);
  });

  test("a large answer arrives whole, and nothing is left behind: no file and no process", async () => {
    const temporary = mkdtempSync(join(stack.folder, "tmp-"));
    const text = "console.log((await (await fetch('https://bank.internal/large')).text()).length)";
    const { stdout, stderr } = await stack.run(["--isolate", "--mode", "observe"], nodeProgram(text), {
      TMPDIR: temporary,
    }).ended;
    expect(stdout, stderr).toBe(`${largeLength}\n`);
    expect(readdirSync(temporary)).toEqual([]);
    const commands = readdirSync("/proc").map((pid) => commandLine(pid));
    expect(commands.filter((each) => each.includes(temporary))).toEqual([]);
  });

  test("exit codes and signals are the command's, as without it", async () => {
    expect((await run(["sh", "-c", "exit 7"]).ended).code).toBe(7);
    const running = run(nodeProgram("console.log('up'); setInterval(() => {}, 1e6)"));
    await waitUntil("the command to run", () => running.stdout().includes("up"));
    running.kill("SIGTERM");
    expect((await running.ended).code).toBe(128 + 15);
  });

  test("Ctrl-C on a terminal reaches the command, which decides how it ends", async () => {
    const command = ["sh", "-c", "trap 'echo interrupted; exit 5' INT; echo up; while :; do sleep 0.1; done"];
    const terminal = openTerminal(stack.args(["--isolate"], command), { env: stack.env });
    await terminal.answer("up", keys.interrupt);
    expect(await terminal.ended).toBe(5);
    expect(terminal.screen().match(/interrupted/g)).toHaveLength(1);
    expect(terminal.screen()).toContain("0 calls guarded");
  });
});
