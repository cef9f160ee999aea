import { registerLedger } from "@svc/test-conformance/ledger";
import { type Pair, startPair } from "@svc/test-conformance/stack";
import { requires, seededRandom } from "@svc/test-support";
import { afterAll, beforeAll, expect } from "vitest";
import { acts, type Caller, type Interleaving, isBroken, type Right, raceOnce, rights } from "./src/revocation-race.ts";

const { describe, test } = requires("redis-server");

/** Scopes whose races run in parallel: a block of one does not affect the others. */
const lanes = [1, 2, 3, 4].map((number) => `lane${number}`);
const interleavings = 1_000;
/** Of each caller, over the endings of its right. */
const racesPerLane = (caller: Caller) =>
  Math.ceil(interleavings / (lanes.length * acts.length * rights.filter((each) => each.caller === caller).length));

describe("over two processes, in a thousand interleavings of each operation with the act that ends its right", () => {
  let pair: Pair;
  beforeAll(async () => {
    pair = await startPair();
    for (const scope of lanes) await registerLedger(pair.one, scope);
  });
  afterAll(() => pair?.stop());

  test.each(rights)(
    "$caller, $ending: after it returns nothing is granted, and earlier grants are refused",
    async (right) => {
      const seen = (await Promise.all(lanes.map((scope, seed) => raceLane(scope, right, seed)))).flat();
      expect(seen.filter(isBroken)).toEqual([]);
      // Both outcomes occurred, so the operations did race.
      for (const act of acts) {
        const raced = seen.filter((each) => each.act === act && !each.isLate);
        expect(new Set(raced.map(({ wasGranted }) => wasGranted))).toEqual(new Set([true, false]));
      }
    },
  );

  async function raceLane(scope: string, { caller, ending }: Right, seed: number): Promise<readonly Interleaving[]> {
    const race = { one: pair.one, other: pair.other, caller, scope, random: seededRandom(seed) };
    const seen: Interleaving[] = [];
    for (let count = 0; count < racesPerLane(caller); count += 1) seen.push(...(await raceOnce(race, ending)));
    return seen;
  }
});
