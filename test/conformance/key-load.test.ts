import { waitUntil } from "@svc/test-support";
import { describe, expect, test } from "vitest";
import type { Api } from "./src/api.ts";
import { pairForTests } from "./src/for-tests.ts";
import { rotate } from "./src/issuer-keys.ts";
import { ledgerHops } from "./src/ledger.ts";

const { one, other } = await pairForTests();
const hops = ledgerHops("books");

describe("under a steady load of exchanges over two processes", () => {
  /** One session's life: each step renews, decides at the other process and exchanges; what was refused is told. */
  async function* steps(count: number, first: Api, second: Api): AsyncGenerator<string[]> {
    const { session, token: root } = await first.consent("books");
    let token = root;
    for (let step = 0; step < count; step++) {
      const [here, there] = step % 2 === 0 ? [first, second] : [second, first];
      const renewed = await here.renew(token, 2);
      const [use, next] = renewed.body.tokens ?? [];
      const decision = await there.authorize(session, use, hops.planner);
      const exchanged = await here.exchange(use, hops.planner, decision.body.action_id);
      yield [renewed, decision, exchanged].filter(({ status }) => status !== 200).map(({ text }) => text);
      token = next;
    }
  }

  test("no rotation refuses a valid token, not even while strangers present keys that nobody knows", async () => {
    const refused: string[] = [];
    const done = Array<number>(6).fill(0);
    let isRunning = true;
    const load = Promise.all(
      done.map(async (_, worker) => {
        for await (const answers of steps(
          12,
          ...(worker % 2 === 0 ? ([one, other] as const) : ([other, one] as const)),
        )) {
          refused.push(...answers);
          done[worker] = (done[worker] ?? 0) + 1;
        }
        done[worker] = Number.POSITIVE_INFINITY;
      }),
    ).finally(() => {
      isRunning = false;
    });
    const strangers = [one, other].map(async (api) => {
      while (isRunning) expect((await api.renew(tokenOfUnknownKey(), 1)).status).toBe(401);
    });
    let rotations = 0;
    while (isRunning) {
      expect((await rotate(rotations % 2 === 0 ? one : other, { now: true })).status).toBe(200);
      rotations += 1;
      // A request that meets three changes in a row is told to come again: none here meets more than two.
      const before = [...done];
      await waitUntil(
        "every worker to go on",
        () =>
          !isRunning || done.every((now, worker) => now > (before[worker] ?? 0) || now === Number.POSITIVE_INFINITY),
      );
    }
    await Promise.all([load, ...strangers]);
    expect(refused).toEqual([]);
    expect(rotations).toBeGreaterThan(3);
  }, 60_000);
});

/** Well-formed in everything but that no key of ours signed it. */
function tokenOfUnknownKey(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const header = part({ alg: "ES256", typ: "at+jwt", kid: "a".repeat(43) });
  return `${header}.${part({ iss: "https://issuer.test" })}.${Buffer.alloc(64).toString("base64url")}`;
}
