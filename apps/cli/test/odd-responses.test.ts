import { describe, expect, test } from "vitest";
import { type ScriptedResponse, scripted, scriptedUrl } from "./script.ts";
import { svc } from "./svc.ts";

const path = "/v1/agents";
const page = JSON.stringify({ data: [], page: { next_cursor: null, limit: 200 } });
const listed = (response: ScriptedResponse) => svc(["agents", "list", "--json"], scripted({ [path]: response }));

describe("a response that no control plane gives ends a command with exit code 2 and a remedy", () => {
  test.each<[string, ScriptedResponse, string]>([
    ["truncated JSON", { body: page.slice(0, 20) }, "answers in another form"],
    ["JSON of another shape", { body: '{"agents":[]}' }, "answers in another form"],
    ["a page of HTML", { body: "<html>Sign in</html>", headers: { "content-type": "text/html" } }, "another form"],
    ["a reset connection", { isReset: true }, "cannot be reached"],
  ])("%s", async (_name, response, message) => {
    const { code, stdout, stderr } = await listed(response);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(`${scriptedUrl} `);
    expect(stderr).toContain(message);
    expect(stderr).toContain("Check --control-plane");
    expect(stderr).not.toMatch(/\n +at /);
  });
});

test("a redirect is not followed, and no other address receives the bearer", async () => {
  const redirect = { status: 302, headers: { location: "/elsewhere" } };
  const { code, stdout, stderr } = await svc(
    ["agents", "list", "--json"],
    scripted({ [path]: redirect, "/elsewhere": { body: page } }),
  );
  expect(code).not.toBe(0);
  expect(stdout).toBe("");
  expect(stderr).toContain("HTTP 302");
});

test("a slow response is waited for", async () => {
  expect(await listed({ body: page, delayMs: 1_000 })).toEqual({ code: 0, stdout: "", stderr: "" });
});
