import { waitUntil } from "@svc/test-support";
import { describe, expect, test } from "vitest";
import { initializing, isRunning, openBridge, scripted } from "./support/stdio-bridge.ts";

type Bridge = ReturnType<typeof openBridge>;
type Client = Awaited<ReturnType<Bridge["initialize"]>>;

const pidOf = async ({ call }: Client): Promise<number> => (await call("count").answered).message.result.pid;
const ends = (pid: number) => waitUntil("the process to end", () => !isRunning(pid));

describe("the number of processes", () => {
  test("makes room by the idle one that was used least recently", async () => {
    const bridge = openBridge({ maxProcesses: 2 });
    const [first, second] = [await bridge.initialize("one"), await bridge.initialize("two")];
    const pids = [await pidOf(second), await pidOf(first)];
    await bridge.initialize("three");
    await ends(pids[0] ?? 0);
    expect(isRunning(pids[1] ?? 0)).toBe(true);
    expect((await second.call("count").answered).status).toBe(404);
  });

  test("never ends one in use: a call or a stream", async () => {
    const bridge = openBridge({ maxProcesses: 2 });
    const [caller, listener] = [await bridge.initialize("one"), await bridge.initialize("two")];
    caller.call("silent");
    listener.listen();
    await waitUntil("the stream", async () => (await listener.listen().answered).status === 409);
    const { status, message } = await bridge.ask("POST", bridge.of("three"), initializing).answered;
    expect([status, message.error.message]).toEqual([
      502,
      "the server of upstream files has 2 processes in use, as many as it may; call again later",
    ]);
  });
});

describe("time", () => {
  test("an idle process ends, and one with an open stream does not", async () => {
    const bridge = openBridge();
    const [idle, listener] = [await bridge.initialize("one"), await bridge.initialize("two")];
    const pids = [await pidOf(idle), await pidOf(listener)];
    listener.listen();
    await waitUntil("the stream", async () => (await listener.listen().answered).status === 409);
    bridge.pass(300_001);
    await ends(pids[0] ?? 0);
    expect(isRunning(pids[1] ?? 0)).toBe(true);
  });

  test("the end of a session ends its processes at once, and no other's", async () => {
    const bridge = openBridge();
    const [one, other] = [await bridge.initialize("one"), await bridge.initialize("two")];
    const pids = [await pidOf(one), await pidOf(other)];
    const silent = one.call("silent");
    await waitUntil("the call to be sent", async () => (await one.call("count").answered).message.result.calls > 2);
    bridge.stdio.endSession("one");
    expect((await silent.answered).message.error.message).toMatch(/ended with its session/);
    await ends(pids[0] ?? 0);
    expect(isRunning(pids[1] ?? 0)).toBe(true);
  });

  test("DELETE ends the process of an MCP session", async () => {
    const bridge = openBridge();
    const client = await bridge.initialize("one");
    const pid = await pidOf(client);
    expect((await bridge.ask("DELETE", bridge.of("one", client.id)).answered).status).toBe(200);
    await ends(pid);
    expect((await client.call("count").answered).status).toBe(404);
  });
});

test("a group over its memory limit is ended, and its calls say so", async () => {
  const { call } = await openBridge({ maxMemoryBytes: 256 * 1024 * 1024 }).initialize("one");
  expect(await call("hoard", { mib: 300 }).answered).toMatchObject({
    status: 502,
    message: { error: { message: "the server of upstream files used more than 256 MiB of memory and was ended" } },
  });
});

describe("a server that does not stay", () => {
  test("is started five times within a minute, then refused until that minute is over", async () => {
    const bridge = openBridge({ command: scripted("broken") });
    const texts: string[] = [];
    const attempt = async (session: string) => {
      const { status, message } = await bridge.ask("POST", bridge.of(session), initializing).answered;
      return [status, message.error.message];
    };
    for (let at = 0; at < 7; at += 1) texts.push(String((await attempt("one"))[1]));
    expect(texts.slice(0, 5)).toEqual(Array(5).fill("the server of upstream files ended (exit code 3)"));
    expect(texts.slice(5)).toEqual(Array(2).fill(expect.stringMatching(/ended 5 times within a minute; call again/)));
    // Another session is not held back by this one.
    expect(await attempt("two")).toEqual([502, expect.stringMatching(/exit code 3/)]);
    bridge.pass(60_000);
    expect(await attempt("one")).toEqual([502, expect.stringMatching(/exit code 3/)]);
    await bridge.connection.destroy();
    const counted = (what: RegExp) =>
      [...bridge.log().matchAll(what)].reduce((sum, [, count]) => sum + Number(count), 0);
    expect([counted(/(\d) started/g), counted(/(\d) ended \(exit code 3\)/g)]).toEqual([7, 7]);
  });

  test("a program that does not exist is named by its error code", async () => {
    const bridge = openBridge({ command: ["/no/such/program"] });
    const { status, message } = await bridge.ask("POST", bridge.of("one"), initializing).answered;
    expect([status, message.error.message]).toEqual([502, "the server of upstream files cannot be started (ENOENT)"]);
  });
});

test("equal settings share their processes, so that a reload keeps them; the last user ends them", async () => {
  const bridge = openBridge();
  const client = await bridge.initialize("one");
  const pid = await pidOf(client);
  const again = bridge.stdio.connect({ ...bridge.server });
  await bridge.connection.destroy();
  expect(isRunning(pid)).toBe(true);
  await again.destroy();
  await ends(pid);
});
