import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type PeopleStack, startPeopleStack } from "../src/people-stack.ts";

let stack: PeopleStack;
beforeAll(async () => {
  stack = await startPeopleStack();
});
afterAll(() => stack?.stop());

/** As a page of another site asks; a browser itself sends the cookies that it may, which is none. */
const fromPage = (method: string, path: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(stack.issuer + path, {
    method,
    redirect: "manual",
    headers: { origin: "https://notebook.example", ...headers },
    ...(method === "POST" && { body: new URLSearchParams({ grant_type: "none" }) }),
  });

/** What a browser looks at before the page may read the answer. */
const allowedTo = ({ headers }: Response) => [
  headers.get("access-control-allow-origin"),
  headers.get("access-control-allow-credentials"),
];

const metadata = "/.well-known/oauth-authorization-server";

describe("a page of any origin may read, without cookies", () => {
  test.each([
    ["the metadata", "GET", metadata, {}, 200],
    ["why there is no token", "POST", "/oauth/token", {}, 400],
    ["that its secret is wrong", "POST", "/oauth/token", { authorization: "Basic eDp5" }, 401],
    ["why nothing was revoked", "POST", "/oauth/revoke", {}, 400],
    ["that the method is another", "PUT", "/oauth/token", {}, 405],
  ])("%s", async (_name, method, path, headers, status) => {
    const response = await fromPage(method, path, headers);
    expect([response.status, ...allowedTo(response)]).toEqual([status, "*", null]);
    expect(response.headers.get("access-control-expose-headers")).toBe("Retry-After,WWW-Authenticate");
  });

  test.each([
    ["GET", metadata, "mcp-protocol-version"],
    ["POST", "/oauth/token", "authorization,content-type"],
    ["POST", "/oauth/revoke", "authorization"],
  ])("what a preflight for %s %s allows", async (method, path, names) => {
    const headers = { "access-control-request-method": method, "access-control-request-headers": names };
    const response = await fromPage("OPTIONS", path, headers);
    expect([response.status, ...allowedTo(response)]).toEqual([204, "*", null]);
    expect(response.headers.get("access-control-allow-methods")).toBe(method);
    expect(response.headers.get("access-control-allow-headers")).toBe(names);
  });
});

test.each([
  "/oauth/authorize",
  "/sign-in",
  "/consent",
  "/me",
  "/console",
  "/v1/agents",
  "/v1/consent",
  "/v1/token/exchange",
  "/v1/audit/decisions",
  "/metrics",
])("no page of another origin reads %s", async (path) => {
  for (const method of ["GET", "POST", "OPTIONS"]) {
    const response = await fromPage(method, path, { "access-control-request-method": "GET" });
    expect([method, ...allowedTo(response)]).toEqual([method, null, null]);
  }
});
