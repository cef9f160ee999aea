import { describe, expect, test } from "vitest";
import { bearersOf } from "../src/stack/bearers.ts";
import { StartError } from "../src/start-error.ts";

const token = "0123456789abcdef0123456789abcdef";

describe("the bearers of a stack", () => {
  test("are new and all different where the environment sets none", () => {
    const { admin, audit, identity } = bearersOf({});
    expect(new Set([admin, audit, identity]).size).toBe(3);
    for (const bearer of [admin, audit, identity]) expect(bearer).toMatch(/^[A-Za-z0-9_-]{32}$/);
    expect(bearersOf({}).admin).not.toBe(admin);
  });

  test.each([
    { set: token, want: token },
    { set: `${token},other-${token}`, want: token },
    { set: `me=${token}`, want: token },
    { set: `me=${token}==, you=x${token}`, want: `${token}==` },
    { set: `${token}==`, want: `${token}==` },
  ])("are the first of the set ones: $set", ({ set, want }) => {
    expect(bearersOf({ SVC_ADMIN_TOKEN: set }).admin).toBe(want);
  });

  test("from a missing file are an error with the setting's name", () => {
    expect(() => bearersOf({ SVC_AUDIT_TOKEN_FILE: "/nowhere" })).toThrow(StartError);
    expect(() => bearersOf({ SVC_AUDIT_TOKEN_FILE: "/nowhere" })).toThrow(/SVC_AUDIT_TOKEN/);
  });
});
