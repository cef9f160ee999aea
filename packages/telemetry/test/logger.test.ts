import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { closeSync, createReadStream, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test, vi } from "vitest";
import { components, errorType, type LogLevel, logLevels } from "../src/index.ts";
import { createLogWriter, type Log, type SpanIds } from "../src/logger.ts";

function logging(level: LogLevel = "info", activeSpan?: () => SpanIds | undefined) {
  const lines: string[] = [];
  const log: Log = createLogWriter({
    component: "pep",
    level,
    destination: { write: (line) => lines.push(line) },
    ...(activeSpan && { activeSpan }),
  });
  return { log, lines, records: () => lines.map((line) => JSON.parse(line)) };
}

const actionId = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";
const sessionId = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5c";
const span = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };

test("a line has level, time, the contract's fields and a message: no pid, no host name", () => {
  const { log, records } = logging();
  const facts = {
    "authz.session_id": sessionId,
    "authz.action_id": actionId,
    "authz.hop": 2,
    "error.type": errorType(new RangeError("canary")),
  };
  log("warn", "decision not recorded", facts, span);
  expect(records()).toEqual([
    {
      level: "warn",
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      "authz.component": "pep",
      "authz.session_id": sessionId,
      "authz.action_id": actionId,
      "authz.hop": 2,
      "error.type": "RangeError",
      trace_id: span.traceId,
      span_id: span.spanId,
      msg: "decision not recorded",
    },
  ]);
});

test("each line has its own time, lines of the same millisecond included", () => {
  const { log, records } = logging();
  const clock = vi.spyOn(Date, "now");
  for (const nowMs of [1_700_000_000_250, 1_700_000_000_250, 1_700_000_000_251, 1_600_000_000_000]) {
    clock.mockReturnValue(nowMs);
    log("info", "decision not recorded");
  }
  clock.mockRestore();
  expect(records().map(({ time }) => time)).toEqual([
    "2023-11-14T22:13:20.250Z",
    "2023-11-14T22:13:20.250Z",
    "2023-11-14T22:13:20.251Z",
    "2020-09-13T12:26:40.000Z",
  ]);
});

test("fields that do not apply are left out", () => {
  const { log, records } = logging();
  log("info", "ready", { "authz.session_id": null, "authz.hop": undefined });
  expect(Object.keys(records()[0])).toEqual(["level", "time", "authz.component", "msg"]);
});

test.each(components)("the component %s is on every line", (component) => {
  const lines: string[] = [];
  const write = createLogWriter({ component, level: "info", destination: { write: (line) => lines.push(line) } });
  write("info", "ready");
  expect(JSON.parse(lines[0] ?? "")["authz.component"]).toBe(component);
});

test.each(logLevels)("at level %s no lower level is written", (level) => {
  const { log, records } = logging(level);
  for (const at of logLevels) log(at, "ready");
  expect(records().map((record) => record.level)).toEqual(logLevels.slice(logLevels.indexOf(level)));
});

test("the active span's ids are attached where no span is given", () => {
  const { log, records } = logging("info", () => span);
  log("error", "guard unreachable");
  expect(records()).toMatchObject([{ trace_id: span.traceId, span_id: span.spanId }]);
});

const hostile = [
  "canary\r\nlevel=error",
  "\u001b[31mcanary\u001b[0m",
  '{"msg":"canary"}',
  "canary\u2028\u0000",
  "%s canary %j",
];

test.each(hostile)("a name with line breaks, escapes or JSON (%j) gives one line with its static message", (name) => {
  const { log, lines } = logging();
  log("info", "call blocked", { "authz.session_id": name, "authz.action_id": name, "authz.hop": 1 });
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^\P{Cc}+\n$/u);
  expect(lines[0]).not.toContain("canary");
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ msg: "call blocked", "authz.hop": 1 });
});

test("a field that does not compile is not written either", () => {
  const { log, lines } = logging();
  // @ts-expect-error an unknown field
  log("info", "ready", { agent: "canary" });
  // @ts-expect-error the error itself
  log("info", "ready", { err: new Error("canary") });
  // @ts-expect-error a message in place of the class name
  log("info", "ready", { "error.type": "canary: at line 1" });
  // @ts-expect-error the component is the process's own
  log("info", "ready", { "authz.component": "canary" });
  expect(lines).toHaveLength(4);
  expect(lines.join("")).not.toContain("canary");
});

test("messages are literals: text with a variable does not compile", () => {
  const { log, records } = logging();
  const agent: string = "planner";
  // @ts-expect-error a variable
  log("info", agent);
  // @ts-expect-error a template with a hole
  log("info", `agent ${agent} blocked`);
  const either: "call allowed" | "call blocked" = records().length > 5 ? "call allowed" : "call blocked";
  log("info", either);
  expect(records()).toHaveLength(3);
});

test("a line that could not be written is counted, and no caller fails", () => {
  let lost = 0;
  const write = createLogWriter({
    component: "pep",
    level: "info",
    destination: {
      write: () => {
        throw new Error("disk full");
      },
    },
    onLost: () => {
      lost += 1;
    },
  });
  write("info", "ready");
  write("debug", "not written anyway");
  expect(lost).toBe(1);
});

const children: ChildProcess[] = [];
/** For tests that start processes: a busy machine takes its time. */
const startingMs = 30_000;
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

async function startLogging(output: "pipe" | number = "pipe", args: readonly string[] = []) {
  const path = fileURLToPath(new URL("support/log-process.ts", import.meta.url));
  const child = fork(path, args, {
    execArgv: ["--conditions=@svc/source"],
    stdio: ["ignore", output, "inherit", "ipc"],
  });
  children.push(child);
  await once(child, "message");
  const logLines = async (lines: number): Promise<number> => {
    child.send(lines);
    return (await once(child, "message"))[0];
  };
  return { child, logLines };
}

async function startPiped() {
  const started = await startLogging();
  return { ...started, stdout: started.child.stdout ?? expect.fail("no standard output") };
}

test(
  "a reader that stalls loses lines, which are counted; it reads the others whole afterwards",
  async () => {
    const { child, stdout, logLines } = await startPiped();
    const lost = await logLines(20_000);
    expect(lost).toBeGreaterThan(0);
    const all = text(stdout);
    child.disconnect();
    const lines = (await all).trimEnd().split("\n");
    expect(lines.length + lost).toBe(20_000);
    expect(lines.every((line) => JSON.parse(line).msg === "call forwarded")).toBe(true);
  },
  startingMs,
);

test(
  "a line that no other follows is written all the same",
  async () => {
    const { stdout, logLines } = await startPiped();
    const first = once(stdout.setEncoding("utf8"), "data");
    await logLines(1);
    expect(JSON.parse((await first)[0]).msg).toBe("call forwarded");
  },
  startingMs,
);

test(
  "what waits to be written when the process exits is written",
  async () => {
    const { child, stdout } = await startPiped();
    const all = text(stdout);
    child.send(-3);
    expect(
      (await all)
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)["authz.hop"]),
    ).toEqual([1, 2, 3]);
  },
  startingMs,
);

test(
  "after the reader closed every line is counted as lost and the process continues",
  async () => {
    const { stdout, logLines } = await startPiped();
    stdout.destroy();
    await once(stdout, "close");
    let before = await logLines(1);
    await expect
      .poll(async () => {
        const now = await logLines(1);
        const grew = now - before;
        before = now;
        return grew;
      })
      .toBe(1);
    expect((await logLines(10)) - before).toBe(10);
  },
  startingMs,
);

test(
  "the lines of several processes that write into one pipe stay whole",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-log-"));
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    // For reading and writing, so that opening does not wait; the writer has a descriptor of its own.
    const [held, writing] = [openSync(pipe, "r+"), openSync(pipe, "w")];
    const workers = await Promise.all([1, 2, 3].map(() => startLogging(writing, ["shared"])));
    closeSync(writing);
    const lost = await Promise.all(workers.map(({ logLines }) => logLines(3_000)));
    const all = text(createReadStream(pipe));
    for (const { child } of workers) child.disconnect();
    await Promise.all(workers.map(({ child }) => once(child, "exit")));
    closeSync(held);
    const lines = (await all).trimEnd().split("\n");
    rmSync(folder, { recursive: true });
    expect(lost).toEqual([0, 0, 0]);
    expect(lines).toHaveLength(9_000);
    expect(lines.filter((line) => !/^\{"level":"info",[^{}]*"msg":"call forwarded"\}$/.test(line))).toEqual([]);
  },
  startingMs,
);
