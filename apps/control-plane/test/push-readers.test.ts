import { describe, expect, test } from "vitest";
import { type PushReader, pushEvents } from "../src/background/push-events.ts";
import type { PushedEvents, PushPosition } from "../src/ports/pushed-events.ts";

const position: PushPosition = { snapshot: "1:1:", oldestOpen: 1n, asOfMs: 0 };

/** A push of three readers, whose database is read when `answer` says so. */
function setUp() {
  let isLost = false;
  const events: PushedEvents = {
    async read() {
      if (isLost) throw new Error("no database");
      return { position, events: [], isLost: false };
    },
    fromTransaction: async () => [],
    sinceTime: async () => [],
  };
  const clock = { nowMs: () => 0 } as Parameters<typeof pushEvents>[0]["clock"];
  const push = pushEvents({ events, clock, everyMs: 60_000, maxReaders: 3 });
  const loseDatabase = () => {
    isLost = true;
  };
  return { push, loseDatabase };
}

const reader = (): PushReader => ({ take() {}, end() {} });

describe("a process that serves as many readers as it may", () => {
  test("is full, until one leaves", async () => {
    const { push } = setUp();
    const readers = [reader(), reader(), reader()];
    for (const each of readers) {
      expect(push.isFull()).toBe(false);
      await push.join(each, {});
    }
    expect(push.isFull()).toBe(true);
    for (const each of readers.slice(0, 1)) push.leave(each);
    expect(push.isFull()).toBe(false);
  });

  test("counts those that are joining, so that no crowd passes at once", async () => {
    const { push } = setUp();
    const joined = [reader(), reader(), reader()].map((each) => push.join(each, {}));
    expect(push.isFull()).toBe(true);
    await Promise.all(joined);
    expect(push.isFull()).toBe(true);
  });

  test("counts none that could not join", async () => {
    const { push, loseDatabase } = setUp();
    loseDatabase();
    const joined = await Promise.allSettled([reader(), reader(), reader()].map((each) => push.join(each, {})));
    expect(joined.every(({ status }) => status === "rejected")).toBe(true);
    expect(push.isFull()).toBe(false);
  });
});
