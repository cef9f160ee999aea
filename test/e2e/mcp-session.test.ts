import { afterAll, describe, expect, test } from "vitest";
import { connectAgent, type McpAgent } from "./src/mcp/agent.ts";
import { everyTool, everything, openEverything } from "./src/mcp/everything.ts";
import { steps, walk } from "./src/mcp/steps.ts";
import { decisionsOf } from "./src/pep/record.ts";

// Run once both ways during collection: each test compares one step.
const stand = await openEverything();
afterAll(() => stand.stop());
const { session, token } = await stand.api.consent(everything);
const headers = { authorization: `Bearer ${token}`, "x-svc-session": session };
const direct = await connectAgent(stand.directUrl, {});
const guarded = await connectAgent(`${stand.enforcementPoint.url}/${everything}`, headers);
const [straight, through] = await Promise.all([walk(direct), walk(guarded)]);
await Promise.all([direct.close(), guarded.close()]);

/** Steps that must fail with the server's own error. */
const failing = [/unknown/, /by an error$/, /^DELETE/];

describe("the official MCP client gets the same results from the official server through the enforcement point as directly", () => {
  test.each(Object.keys(steps))("%s", (name) => {
    expect(through[name]).toEqual(straight[name]);
    const isError = (outcome: unknown) => typeof outcome === "object" && outcome !== null && "failed" in outcome;
    const isToolError = (outcome: unknown) => (outcome as { isError?: boolean } | null)?.isError === true;
    const mayFail = failing.some((pattern) => pattern.test(name));
    expect(isError(straight[name]) || isToolError(straight[name])).toBe(
      mayFail || name === "echo without its argument",
    );
  });

  test("the steps call every tool of the server", () => {
    const listed = (straight["tools/list"] as { name: string }[]).map(({ name }) => name);
    expect(listed.sort()).toEqual([...everyTool]);
    const named = Object.keys(steps).join(" ");
    expect(listed.filter((name) => !named.includes(name))).toEqual([]);
  });

  test("the server sends the client the same requests: sampling, elicitation, roots", () => {
    const kinds = ({ serverRequests }: McpAgent) => [...new Set(serverRequests)].sort();
    expect(kinds(guarded)).toEqual(kinds(direct));
    expect(kinds(guarded)).toEqual(["elicitation/create", "roots/list", "sampling/createMessage"]);
  });

  test("a resumed stream continues after the named event", () => {
    expect(through["GET with Last-Event-ID"]).toMatchObject({ status: 200, isTheRest: true });
  });
});

test("no call of the session is denied, and every tool call is recorded", async () => {
  const rows = await decisionsOf(stand, session);
  expect(rows.filter(({ decision }) => decision === "deny")).toEqual([]);
  const targets = new Set(rows.map(({ target }) => target));
  expect(everyTool.filter((name) => !targets.has(`mcp:${everything}/${name}`))).toEqual([]);
});
