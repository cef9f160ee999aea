import { isUnambiguousPath } from "@svc/classify";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createUnlistedCalls, pathTemplate } from "../src/decide/unlisted-calls.ts";

test.each([
  ["/", "/"],
  ["/entries", "/entries"],
  ["/entries/", "/entries/"],
  ["/v1/entries/7", "/v1/entries/:id"],
  ["/oauth2/token", "/oauth2/token"],
  ["/files/report.pdf", "/files/report.pdf"],
  ["/users/ada@example.com/0190d5f0-6b1e-7000-8000-000000000000", "/users/:id/:id"],
  ["/a%20b/:name/*", "/:id/:id/:id"],
  [`/${"x".repeat(40)}`, "/:id"],
  [`/a${"/b".repeat(40)}`, `/a${"/b".repeat(15)}/*`],
])("the template of %s is %s", (path, template) => expect(pathTemplate(path)).toBe(template));

describe("templates", () => {
  test("are short, and routes could be made of them", () => {
    fc.assert(
      fc.property(fc.webPath({ size: "large" }), (path) => {
        fc.pre(path.startsWith("/") && isUnambiguousPath(path));
        const template = pathTemplate(path);
        expect(isUnambiguousPath(template)).toBe(true);
        expect(template.length).toBeLessThan(600);
      }),
    );
  });
});

test("the list is bounded, keeps counting what it has, and says how many calls it dropped", () => {
  const calls = createUnlistedCalls();
  const noted = (path: string) => calls.note({ upstream: "ledger", method: "GET", path, cause: "unresolvable_call" });
  for (let at = 0; at < 1_500; at++) noted(`/${at}`);
  noted("/0");
  const { unlisted, dropped } = calls.read();
  expect([unlisted.length, dropped]).toEqual([1_000, 500]);
  expect(unlisted[0]).toMatchObject({ path: "/0", count: 2 });
});
