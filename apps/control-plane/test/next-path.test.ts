import fc from "fast-check";
import { expect, test } from "vitest";
import { nextPath } from "../src/people/next-path.ts";

test.each([
  "/console",
  "/console?span=1h",
  "/console/decisions?agent=a%26b&outcome=deny",
  "/console/scopes?name=..",
  "/me",
  "/me?tab=all",
  "/consent?ask=abc.def-_",
  "/oauth/authorize?client_id=https%3A%2F%2Fclient.test%2Fclient&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcb",
])("a sign-in leads to %s", (next) => {
  expect(nextPath(next)).toBe(next);
});

test.each([
  "",
  "/",
  "//evil.test",
  "///evil.test",
  "/\\evil.test",
  "\\\\evil.test",
  "/%2f/evil.test",
  "/%2fevil.test",
  "/%5cevil.test",
  "https://evil.test/console",
  "https:evil.test",
  "HTTP://evil.test",
  "javascript:alert(1)",
  "data:text/html,x",
  "console",
  "/consoles",
  "/consent.evil.test",
  "/me@evil.test",
  "/console/../..",
  "/console/../v1/agents",
  "/console/./decisions",
  "/console/..",
  "/console/%2e%2e/v1",
  "/console/%2E%2e",
  "/console\\..\\evil",
  "/console\\@evil.test",
  "/console#evil",
  "/console\n",
  "/console\r\nLocation: https://evil.test",
  "/console?a=\nSet-Cookie: b=c",
  "/console?a=b c",
  "/console/ü",
  "\t/console",
  " /console",
  "/console\u0000",
  "/console/sign-in",
  "/console/sign-out",
  "/sign-in?next=/sign-in",
  "/v1/agents",
])("a sign-in never leads to %j", (next) => {
  expect(nextPath(next)).toBe("/me");
});

test("whatever the text, a browser stays at this host, at a page of ours, on one line", () => {
  const piece = fc.constantFrom(
    "/",
    "//",
    "\\",
    "..",
    ".",
    "%2e",
    "%2f",
    "@",
    ":",
    "evil.test",
    "console",
    "me",
    "?",
    "#",
  );
  const text = fc.array(fc.oneof(piece, fc.string({ maxLength: 3 })), { maxLength: 8 }).map((parts) => parts.join(""));
  const begun = fc.tuple(fc.constantFrom("", "/console", "/me", "/consent", "/oauth/authorize"), text);
  fc.assert(
    fc.property(begun, ([start, rest]) => {
      const next = nextPath(start + rest);
      const url = new URL(next, "https://plane.test/sign-in/callback");
      expect(url.origin).toBe("https://plane.test");
      expect(url.pathname).toMatch(/^\/(?:console|me|consent|oauth\/authorize)(?:\/|$)/);
      expect(next).toMatch(/^[!-~]+$/);
    }),
    { numRuns: 2_000, seed: 1 },
  );
});
