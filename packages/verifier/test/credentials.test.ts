import { describe, expect, test } from "vitest";
import type { AdmitRequest, RefusalCause } from "../src/index.ts";
import { admit, causeOf } from "./support/admitting.ts";
import { hopClaims, sessionId, sign } from "./support/tokens.ts";

describe("headers", () => {
  test("a Headers, a record in any case and Node's arrays are read equally", async () => {
    const token = await sign(hopClaims());
    const record = { Authorization: `Bearer ${token}`, "X-SVC-Session": sessionId };
    expect(await causeOf(admit({ headers: record }))).toBe("admitted");
    expect(await causeOf(admit({ headers: new Headers(record) }))).toBe("admitted");
    const distinct = { authorization: [`bearer  ${token}`], "x-svc-session": [sessionId], "txn-token": undefined };
    expect(await causeOf(admit({ headers: distinct }))).toBe("admitted");
  });

  test("beside the application's own Authorization the token is read from X-Svc-Authorization", async () => {
    const headers = {
      authorization: "Basic xyz",
      "x-svc-authorization": `Bearer ${await sign(hopClaims())}`,
      "x-svc-session": sessionId,
    };
    expect(await causeOf(admit({ headers }))).toBe("admitted");
  });

  test.each<[string, (token: string) => AdmitRequest["headers"], RefusalCause]>([
    ["none", () => ({}), "missing_token"],
    ["an empty Authorization", () => ({ authorization: "" }), "missing_token"],
    ["another scheme", () => ({ authorization: "Basic xyz" }), "missing_token"],
    ["a scheme that only begins alike", (token) => ({ authorization: `Bearerx ${token}` }), "missing_token"],
    ["a bearer without a token", () => ({ authorization: "Bearer " }), "malformed"],
    ["no JWT", () => ({ authorization: "Bearer abc" }), "malformed"],
    ["trailing junk", (token) => ({ authorization: `Bearer ${token} x` }), "malformed"],
    ["two in an array", (token) => ({ authorization: [`Bearer ${token}`, `Bearer ${token}`] }), "malformed"],
    [
      "two in two cases",
      (token) => ({ authorization: `Bearer ${token}`, Authorization: `Bearer ${token}` }),
      "malformed",
    ],
    [
      "two joined",
      (token) =>
        new Headers([
          ["authorization", `Bearer ${token}`],
          ["authorization", `Bearer ${token}`],
        ]),
      "malformed",
    ],
    [
      "two sessions",
      (token) => ({ authorization: `Bearer ${token}`, "x-svc-session": [sessionId, sessionId] }),
      "malformed",
    ],
  ])("%s: refused", async (_name, headers, want) => {
    expect(await causeOf(admit({ headers: headers(await sign(hopClaims())) }))).toBe(want);
  });
});
