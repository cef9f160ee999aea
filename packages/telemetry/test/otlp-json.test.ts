import { expect, test } from "vitest";
import { requestSerializer } from "../src/otlp-json.ts";

test("a request takes the memory of an answered one, and never that of one without an answer", () => {
  const { serializeRequest, giveBackLater } = requestSerializer({ resource: {}, scope: { name: "a", version: "1" } });
  const next = () => ({ memory: serializeRequest([]).buffer, giveBack: giveBackLater() });
  const first = next();
  const second = next();
  expect(second.memory).not.toBe(first.memory);
  first.giveBack();
  const third = next();
  expect(third.memory).toBe(first.memory);
  expect([first.memory, second.memory]).not.toContain(next().memory);
});
