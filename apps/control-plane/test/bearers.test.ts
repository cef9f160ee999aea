import { describe, expect, test } from "vitest";
import { ApiError } from "../src/http/api-error.ts";
import { createBearers, type Plane, planes } from "../src/http/bearers.ts";

const token = (name: string): string => `${name}-`.padEnd(40, "x");
const bearers = createBearers({
  admin: [
    { label: "alice", token: token("alice") },
    { label: "bob", token: token("bob") },
  ],
  audit: [{ label: "audit", token: token("audit") }],
  identity: [{ label: "identity", token: token("identity") }],
  enforcement: [{ label: "enforcement", token: token("enforcement") }],
  signals: [{ label: "signals", token: token("signals") }],
});

const holder = (plane: Plane, authorization: string | null): string => {
  try {
    return bearers(plane, authorization).label;
  } catch (error) {
    if (error instanceof ApiError && error.code === "unauthorized") return "401";
    throw error;
  }
};

describe("each plane accepts its own tokens and those it falls back to", () => {
  const table: Record<string, Record<Plane, string>> = {
    alice: { admin: "alice", audit: "alice", identity: "alice", enforcement: "401", signals: "401" },
    bob: { admin: "bob", audit: "bob", identity: "bob", enforcement: "401", signals: "401" },
    audit: { admin: "401", audit: "audit", identity: "audit", enforcement: "401", signals: "401" },
    identity: { admin: "401", audit: "401", identity: "identity", enforcement: "401", signals: "401" },
    enforcement: { admin: "401", audit: "401", identity: "401", enforcement: "enforcement", signals: "401" },
    signals: { admin: "401", audit: "401", identity: "401", enforcement: "401", signals: "signals" },
    stranger: { admin: "401", audit: "401", identity: "401", enforcement: "401", signals: "401" },
  };
  test.each(Object.entries(table).flatMap(([name, row]) => planes.map((plane) => ({ name, plane, want: row[plane] }))))(
    "$name at $plane: $want",
    ({ name, plane, want }) => {
      expect(holder(plane, `Bearer ${token(name)}`)).toBe(want);
    },
  );
});

const good = token("alice");
test.each([
  ["none", null],
  ["empty", ""],
  ["no scheme", good],
  ["another scheme", `Basic ${good}`],
  ["no token", "Bearer "],
  ["trailing junk", `Bearer ${good} x`],
  ["a trailing comma", `Bearer ${good},`],
  ["two, joined as HTTP joins them", `Bearer ${good}, Bearer ${good}`],
  ["a prefix of the token", `Bearer ${good.slice(0, -1)}`],
  ["one more character", `Bearer ${good}x`],
  ["another case", `Bearer ${good.toUpperCase()}`],
  ["8 kB", `Bearer ${"x".repeat(8192)}`],
  ["quotes", `Bearer "${good}"`],
])("an Authorization header with %s is 401", (_name, authorization) => {
  expect(holder("admin", authorization)).toBe("401");
});

test.each([
  ["nothing", null, /^No bearer token was sent/],
  ["an empty header", "", /^No bearer token was sent/],
  ["another scheme", `Basic ${good}`, /^Another scheme than Bearer was sent/],
  ["another scheme alone", "Negotiate", /^Another scheme than Bearer was sent/],
  ["two, joined as HTTP joins them", `Bearer ${good}, Bearer ${good}`, /^The Authorization header does not hold one/],
  ["an unknown token", `Bearer ${token("stranger")}`, /^The bearer token is not valid for this route/],
])("a 401 for %s names that reason and does not repeat the credential", (_name, authorization, want) => {
  const refused = () => bearers("admin", authorization);
  expect(refused).toThrow(want);
  expect(refused).not.toThrow(/alice-|stranger-/);
});

test("the scheme's case does not matter (RFC 9110 section 11.1)", () => {
  expect(holder("admin", `bearer ${good}`)).toBe("alice");
});

test("a plane without tokens accepts only those it falls back to", () => {
  const adminOnly = createBearers({
    admin: [{ label: "admin", token: good }],
    audit: [],
    identity: [],
    enforcement: [],
    signals: [],
  });
  expect(adminOnly("identity", `Bearer ${good}`)).toMatchObject({ plane: "admin", label: "admin" });
  expect(() => adminOnly("audit", `Bearer ${token("audit")}`)).toThrow(ApiError);
});

test("tokens with one label have different ids, and no id contains its token", () => {
  const twins = createBearers({
    admin: ["one", "two"].map((name) => ({ label: "admin", token: token(name) })),
    audit: [],
    identity: [],
    enforcement: [],
    signals: [],
  });
  const [one, two] = ["one", "two"].map((name) => twins("admin", `Bearer ${token(name)}`).id);
  expect(one).not.toBe(two);
  expect(twins("audit", `Bearer ${token("one")}`).id).toBe(one);
  expect(one).not.toContain("one");
});
