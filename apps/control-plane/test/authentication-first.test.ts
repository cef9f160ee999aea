import { aManifest, aTool } from "@svc/test-support";
import { issueHopToken, narrowedClaims } from "@svc/tokens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { authorize } from "../src/commands/hop/authorize.ts";
import { isOfKind, requireVerified, verifySubject } from "../src/commands/hop/hop-tokens.ts";
import { type DocumentedOperation, documentedOperations, filled } from "./documented-operations.ts";
import { registerAgent, startPlane, tokens } from "./support.ts";

const plane = await startPlane();
afterAll(() => plane.stop());
const operations = (await documentedOperations(plane)).filter(({ bearers }) => bearers.length > 0);

const unknownId = "01900000-0000-7000-8000-000000000000";
const at = ({ path }: DocumentedOperation): string => filled(path, () => unknownId);

/** What a route would refuse for itself, had it looked. */
const faults = [
  { fault: "a body that is no JSON", body: "{", query: "", headers: {} },
  { fault: "an unknown member", body: { no_such_member: 1 }, query: "", headers: {} },
  { fault: "another media type", body: "x", query: "", headers: { "content-type": "text/plain" } },
  { fault: "no body", body: undefined, query: "", headers: {} },
  { fault: "an unknown parameter", body: undefined, query: "?no_such_parameter=1", headers: {} },
  { fault: "a malformed query", body: undefined, query: "?a=%zz", headers: {} },
];
const cases = operations.flatMap((operation) =>
  faults
    .filter(({ body }) => body === undefined || operation.body !== undefined)
    .map((fault) => ({ name: `${operation.method} ${operation.path}`, operation, ...fault })),
);

const invalid = { none: "", unknown: "x".repeat(40), "a token of another issuer": "eyJhbGciOiJFUzI1NiJ9.e30.x" };

describe("a request without a valid credential is 401, also where it has other faults", () => {
  test("these requests cover every operation that needs a credential", () => {
    expect(operations.length).toBeGreaterThan(30);
  });

  test.each(cases)("$name with $fault", async ({ operation, body, query, headers }) => {
    for (const token of Object.values(invalid)) {
      const answer = await plane.send(at(operation) + query, { method: operation.method, token, body, headers });
      expect(answer).toMatchObject({ status: 401, json: { error: { code: "unauthorized" } } });
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
      expect(answer.headers.get("cache-control")).toBe("no-store");
    }
  });
});

describe("a valid bearer for another route is 401", () => {
  let rootGrant: string;
  let toolToken: string;
  beforeAll(async () => {
    await registerAgent(plane, "clerk", aManifest("books", { tools: [aTool("http:books/read")] }));
    rootGrant = String(
      (await plane.send("/v1/consent", { body: { scope: "books", user_sub: "ada" } })).json.root_grant,
    );
    toolToken = await narrowedToTool(rootGrant);
  });

  /** The token that an exchange would return. */
  async function narrowedToTool(token: string): Promise<string> {
    const verified = await verifySubject(plane.deps, token);
    if (verified === undefined) throw new Error("the root grant does not verify");
    const { claims: subject } = requireVerified(verified);
    const allow = {
      actionId: unknownId,
      target: "http:books/read",
      targetKind: "tool",
      dataClass: "finance.entries",
      privileged: false,
      taint: "trusted_internal",
    } as const;
    const issuance = { jti: "one", nowSeconds: Math.floor(Date.now() / 1000), sessionExpiresAtSeconds: subject.exp };
    return issueHopToken(plane.deps.issuerKeys.current().signingKey(), narrowedClaims(subject, allow, issuance));
  }

  test.each([
    ["POST", "/v1/authorize", () => toolToken],
    ["POST", "/v1/token/renew", () => toolToken],
    ["POST", "/v1/token/transaction", () => rootGrant],
    ["POST", "/v1/authorize", () => tokens.admin],
    ["POST", "/v1/token/renew", () => tokens.admin],
    ["POST", "/v1/token/transaction", () => tokens.admin],
    ["POST", "/v1/consent", () => rootGrant],
    ["POST", "/v1/agents", () => tokens.audit],
    ["POST", "/v1/identity/enrollments", () => tokens.identity],
  ])("%s %s", async (method, path, token) => {
    const answer = await plane.send(path, { method, token: token(), body: "{" });
    expect(answer).toMatchObject({ status: 401, json: { error: { code: "unauthorized" } } });
  });

  test.each([
    ["/v1/authorize", () => rootGrant],
    ["/v1/token/renew", () => rootGrant],
    ["/v1/token/transaction", () => toolToken],
  ])("a valid bearer for the route gets the fault of its body: %s", async (path, token) => {
    expect(await plane.send(path, { token: token(), body: "{" })).toMatchObject({
      status: 400,
      json: { error: { code: "invalid_request" } },
    });
  });
});

test("while the keys cannot be read, a token of an unknown key passes authentication, and the command fails with the outage", async () => {
  const recheck = () => Promise.reject(Object.assign(new Error("down"), { code: "database_unavailable" }));
  const token = (await plane.send("/v1/consent", { body: { scope: "books", user_sub: "ada" } })).json.root_grant;
  const current = () => ({ ...plane.deps.issuerKeys.current(), lookup: new Map() });
  const issuerKeys = { ...plane.deps.issuerKeys, recheck, current };
  const subject = await verifySubject({ ...plane.deps, issuerKeys }, String(token));
  if (subject === undefined) throw new Error("the token was rejected");
  expect(isOfKind(subject, "current_hop")).toBe(true);
  const command = { subject, sessionId: unknownId, target: "http:books/read", targetKind: "tool" } as const;
  const rest = { dataClass: "finance.entries", taint: undefined, enforced: true, actorToken: undefined };
  await expect(authorize(plane.deps, { ...command, ...rest })).rejects.toThrow("down");
});
