import { afterAll, describe, expect, test } from "vitest";
import { connectAgent, type McpAgent } from "./src/mcp/agent.ts";
import { everyTool, everything, openEverything, spawned } from "./src/mcp/everything.ts";
import { steps, walk } from "./src/mcp/steps.ts";
import { decisionsOf } from "./src/pep/record.ts";

// Run once both ways during collection: each test compares one step.
const stand = await openEverything();
afterAll(() => stand.stop());
const { session, token } = await stand.api.consent(spawned);
const headers = { authorization: `Bearer ${token}`, "x-svc-session": session };
const overHttp = await connectAgent(stand.directUrl, {});
const overStdio = await connectAgent(`${stand.enforcementPoint.url}/${spawned}`, headers);
const [straight, through] = await Promise.all([walk(overHttp), walk(overStdio)]);
await Promise.all([overHttp.close(), overStdio.close()]);

/** What the server's environment and its own HTTP transport decide. */
const ofTransport = [
  ...["get-env", "GET with Last-Event-ID", "DELETE, and a call after it"],
  "logging/setLevel and toggle-simulated-logging",
];

describe("the official MCP client gets the same results from the official server as a child process as over HTTP", () => {
  test.each(Object.keys(steps).filter((name) => !ofTransport.includes(name)))("%s", (name) => {
    expect(through[name]).toEqual(straight[name]);
  });

  test("the server sends the client the same requests: sampling, elicitation, roots", () => {
    const kinds = ({ serverRequests }: McpAgent) => [...new Set(serverRequests)].sort();
    expect(kinds(overStdio)).toEqual(kinds(overHttp));
    expect(kinds(overStdio)).toEqual(["elicitation/create", "roots/list", "sampling/createMessage"]);
  });

  test("log messages arrive, and no call works after DELETE", () => {
    expect(through["logging/setLevel and toggle-simulated-logging"]).toHaveProperty("content");
    expect(through["DELETE, and a call after it"]).toHaveProperty("failed");
  });
});

test("every tool call of the session is recorded", async () => {
  const rows = await decisionsOf(stand, session);
  expect(rows.filter(({ decision }) => decision === "deny")).toEqual([]);
  const targets = new Set(rows.map(({ target }) => target));
  expect(everyTool.filter((name) => !targets.has(`mcp:${spawned}/${name}`))).toEqual([]);
  expect([...targets].filter((target) => target.startsWith(`mcp:${everything}`))).toEqual([]);
});
