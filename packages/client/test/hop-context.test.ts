import { expect, test } from "vitest";
import { narrowed, rootClaims, sessionId, signed } from "../../hop/test/support/tokens.ts";
import { hopContext } from "../src/index.ts";

const root = rootClaims();
const planner = narrowed(root, "planner");
const auditor = narrowed(planner, "auditor");

test("at hop 1 the caller is the human", async () => {
  expect(hopContext(sessionId, await signed(root))).toMatchObject({ hop: 1, actChain: ["user-1"], caller: "user-1" });
});

test("an advanced context has the same session and a longer chain", async () => {
  const first = hopContext(sessionId, await signed(root));
  const third = first.advanced(await signed(planner)).advanced(await signed(auditor));
  expect(third).toMatchObject({ sessionId, hop: 3, actChain: ["user-1", "planner", "auditor"], caller: "auditor" });
  expect(first.hop).toBe(1);
});

test("its own members and its JSON are session and token only", async () => {
  const token = await signed(planner);
  const context = hopContext(sessionId, token);
  expect(Object.keys(context)).toEqual(["sessionId", "token"]);
  expect(JSON.parse(JSON.stringify(context))).toEqual({ sessionId, token });
});

test("its headers are those an enforcement point reads", async () => {
  const token = await signed(planner);
  expect(hopContext(sessionId, token).headers()).toEqual({
    Authorization: `Bearer ${token}`,
    "X-Svc-Session": sessionId,
  });
});

test("a text that is no hop token is rejected and not repeated", () => {
  expect(() => hopContext(sessionId, "secret.secret.secret")).toThrow(/^not a hop token$/);
});
