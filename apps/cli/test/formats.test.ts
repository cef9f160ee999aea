import { spawnSync } from "node:child_process";
import { waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { type CliStack, startClerkStack } from "./stack.ts";
import { main, start, svc } from "./svc.ts";

let stack: CliStack;
let sessionId: string;
let otherId: string;

beforeAll(async () => {
  stack = await startClerkStack();
  const consent = async (user: string) =>
    (await stack.json("consent", "--scope", "books", "--user", user, "--agent", "clerk"))[0].session_id;
  [sessionId, otherId] = [await consent("ada"), await consent("grace")];
});
afterAll(() => stack.stop());

const lastGroup = (id: string) => id.slice(-12);

describe("a list", () => {
  test("as a table has ages and the end of ids; wide, whole times and ids", async () => {
    const narrow = (await stack.svc("sessions", "list")).stdout;
    expect(narrow).toMatch(/^session +age +status +user +scope +expires\n/);
    expect(narrow).toMatch(new RegExp(`${lastGroup(sessionId)} +\\d+s +active +ada +books +in \\d+m`));
    const wide = (await stack.svc("sessions", "list", "-o", "wide")).stdout;
    expect(wide).toMatch(new RegExp(`${sessionId} +20\\d\\d-\\S+Z +active +ada`));
  });

  test("as YAML is one sequence of what JSON has line by line", async () => {
    const { stdout } = await stack.svc("sessions", "list", "-o", "yaml");
    expect(parse(stdout)).toEqual(await stack.json("sessions", "list"));
  });

  test("as names has what other commands take", async () => {
    const { stdout } = await stack.svc("sessions", "list", "-o", "name");
    expect(stdout.trim().split("\n").sort()).toEqual([sessionId, otherId].sort());
    expect((await stack.svc("agents", "list", "-o", "name")).stdout).toBe("clerk\n");
  });

  test("says on standard error that it was limited, and how to read all", async () => {
    const limited = await stack.svc("sessions", "list", "--limit", "1", "-o", "name");
    expect(limited).toEqual({
      code: 0,
      stdout: `${otherId}\n`,
      stderr: "The first 1; --limit all prints every one.\n",
    });
    expect((await stack.svc("sessions", "list", "--limit", "all")).stderr).toBe("");
  });

  test("that is watched prints what is new, changed and gone, until it is stopped", async () => {
    const watching = start(["block", "list", "--watch"], stack.env);
    await waitUntil("the first list", () => watching.stdout() === "No block is in force.\n");
    await stack.svc("block", "set", "tool", "http:watched", "--reason", "first");
    await waitUntil("the new block", () => /tool +http:watched .*first\n$/.test(watching.stdout()));
    await stack.svc("block", "set", "tool", "http:watched", "--reason", "second");
    await waitUntil("the changed block", () => /second\n$/.test(watching.stdout()));
    await stack.svc("block", "lift", "tool", "http:watched");
    await waitUntil("the end of it", () => watching.stderr().includes("tool http:watched is gone"));
    watching.kill("SIGINT");
    expect((await watching.ended).code).toBe(0);
    expect(watching.stdout().match(/^kind /gm)).toHaveLength(1);
  });
});

describe("an id", () => {
  test("may be given by its end", async () => {
    const [session] = await stack.json("sessions", "show", lastGroup(sessionId));
    expect(session).toMatchObject({ session_id: sessionId });
  });

  test("may be given by its end in a filter too", async () => {
    const filter = ["--session", lastGroup(sessionId)];
    expect(await stack.json("decisions", ...filter)).toMatchObject([{ session_id: sessionId, target: "clerk" }]);
    const events = await stack.json("events", ...filter);
    expect(new Set(events.map(({ session_id: session }) => session))).toEqual(new Set([sessionId]));
  });

  test("that no row ends in is refused, and names the way to the whole", async () => {
    const { code, stderr } = await stack.svc("sessions", "show", "00000000dead");
    expect([code, stderr]).toEqual([1, expect.stringMatching(/no session .* ends in 00000000dead\n.*-o wide/)]);
  });
});

describe("an error", () => {
  test.each([
    [["decisions", "--no-such"], "svc decisions --help"],
    [["keys", "rotat"], "svc keys --help"],
    [["expalin"], "svc --help"],
    [["block", "set", "tool"], "svc block set --help"],
    [["agents", "list", "-o", "xml"], "svc agents list --help"],
  ])("of the command line names the help of its command: svc %j", async (words, help) => {
    const { code, stdout, stderr } = await svc(words);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(new RegExp(`^error: [\\s\\S]*\nSee ${help}\\.\n$`));
  });

  test.each([["--json"], ["-ojson"], ["-o", "json"], ["--output=json"]])(
    "is one line of JSON where results are: %s",
    async (...format: string[]) => {
      const { code, stdout, stderr } = await stack.svc("agents", "identity", "no-such-agent", ...format);
      expect([code, stdout]).toEqual([1, ""]);
      expect(JSON.parse(stderr)).toEqual({
        error: { code: "agent_not_found", message: expect.any(String), remedy: expect.any(String) },
      });
    },
  );

  test("of the output, as on a full disk, has no stack", () => {
    const { status, stderr } = spawnSync("sh", ["-c", `"${process.execPath}" "${main}" --help > /dev/full`]);
    expect([status, String(stderr)]).toEqual([
      1,
      "error: the output cannot be written: ENOSPC: no space left on device, write\nCheck where it is sent.\n",
    ]);
  });
});

test.each([[["keys", "rotate"]], [["decisions"]], [["manifest", "submit"]], [["dev"]], [[]]])(
  "svc help %j is its --help",
  async (words) => {
    const [help, option] = [await svc(["help", ...words]), await svc([...words, "--help"])];
    expect(help).toEqual(option);
    expect(help.code).toBe(0);
  },
);

describe("a block", () => {
  test("may be set for a span, and ends by itself", async () => {
    const before = Date.now();
    const [block] = await stack.json("block", "set", "agent", "clerk", "--reason", "r", "--for", "10m");
    expect(Date.parse(block.until) - before).toBeGreaterThanOrEqual(600_000);
    expect(Date.parse(block.until) - Date.now()).toBeLessThanOrEqual(600_000);
    await stack.svc("block", "lift", "agent", "clerk");
  });

  test.each([
    ["tool", "http:ledger/raed", /^warning: no tool http:ledger\/raed .*did you mean http:ledger\/read\?\n$/],
    ["tool", "mcp:elsewhere", /^warning: no tool mcp:elsewhere is declared at present\n$/],
    ["agent", "clark", /did you mean clerk\?/],
    ["scope", "book", /did you mean books\?/],
    ["tool", "http:ledger/read", /^$/],
    ["agent", "clerk", /^$/],
    ["scope", "books", /^$/],
  ])("that covers nothing is set with a warning: %s %s", async (kind, ref, warning) => {
    const { code, stderr } = await stack.svc("block", "set", kind, ref, "--reason", "r");
    await stack.svc("block", "lift", kind, ref);
    expect([code, stderr]).toEqual([0, expect.stringMatching(warning)]);
  });

  test.each([
    [["--until", "2020-01-01T00:00Z"], "a time to come"],
    [["--until", "10m"], "there is --for"],
    [["--for", "soon"], "a span such as"],
    [["--for", "10m", "--until", "2999-01-01T00:00Z"], "cannot be used with"],
  ])("with an end that is none is refused, and changes nothing: %j", async (end, message) => {
    const { code, stderr } = await stack.svc("block", "set", "tool", "http:x", "--reason", "r", ...end);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(await stack.json("block", "list")).toEqual([]);
  });
});
