import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CliStack, startCliStack } from "./stack.ts";

let stack: CliStack;

const tools = [{ ref: "http:ledger/read", data_classes: ["finance.entries"] }];
const acts = { hop_budget: 3, tools };

/** Scope `books`: clerk, who delegates to auditor. Scope `two`: clerk and tutor. Scope `left`: clerk and a revoked one. */
beforeAll(async () => {
  stack = await startCliStack();
  const manifests = {
    auditor: { books: acts },
    clerk: { books: { ...acts, downstream_agents: ["auditor"] }, two: acts, left: acts },
    tutor: { two: acts },
    gone: { left: acts },
  };
  for (const [agent, scopes] of Object.entries(manifests)) {
    const file = join(stack.folder, `${agent}.json`);
    writeFileSync(file, JSON.stringify({ agent, manifest: { scopes } }));
    expect(await stack.svc("manifest", "submit", file, "--override", "a test")).toMatchObject({ code: 0 });
  }
  await stack.svc("agents", "revoke", "gone", "--reason", "a test", "--yes");
});
afterAll(() => stack?.stop());

const run = () => ["--upstreams", stack.upstreams, "--", "true"];
const mcp = () => ["--name", "files", "--class", "docs", "--", "true"];

describe("nothing is consented to", () => {
  test.each([
    [
      "of a scope that does not exist",
      ["--scope", "boks", "--agent", "clerk"],
      /no scope "boks"; did you mean books\?/,
    ],
    ["for an unknown agent", ["--scope", "books", "--agent", "clark"], /clark is no entry agent[\s\S]*--agent clerk\./],
    ["for an agent that others delegate to", ["--scope", "books", "--agent", "auditor"], /auditor is no entry agent/],
    ["for one of several agents", ["--scope", "two"], /several entry agents\nChoose one with --agent: clerk, tutor\./],
  ])("%s, by no command", async (_case, flags, message) => {
    const commands = [
      ["run", ...flags, "--user", "ada", ...run()],
      ["mcp", ...flags, "--user", "ada", ...mcp()],
      ...(flags.includes("--agent") ? [["consent", ...flags, "--user", "ada"]] : []),
    ];
    for (const command of commands) {
      const { code, stdout, stderr } = await stack.svc(...command);
      expect([code, stdout, stderr]).toEqual([1, "", expect.stringMatching(message)]);
    }
    expect(await stack.json("sessions", "list")).toEqual([]);
  });
});

test("the agent that acts is the one in good standing, where the others were revoked", async () => {
  const { code, stderr } = await stack.svc("run", "--scope", "left", "--user", "ivy", ...run());
  expect([code, stderr]).toEqual([0, expect.stringContaining("0 calls guarded")]);
  const [session] = await stack.json("sessions", "list", "--user", "ivy");
  expect(await stack.json("decisions", "--session", session.session_id)).toMatchObject([{ target: "clerk" }]);
});

test("svc scopes show names the agents that a person delegates to", async () => {
  expect((await stack.svc("scopes", "show", "two")).stdout).toMatch(/^a person delegates to clerk, tutor$/m);
});
