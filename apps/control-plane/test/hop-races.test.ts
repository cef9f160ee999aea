import { requires, seededRandom, startOwnRedis } from "@svc/test-support";
import { afterAll, beforeAll, expect } from "vitest";
import { endings, faultsOf, type Race, raceOnce } from "./hop-races.ts";
import { startPlane } from "./support.ts";

const { describe, test } = requires("redis-server");

const interleavings = process.env.TEST_LONG === "true" ? 500 : 70;
const racesOfEach = Math.ceil(interleavings / endings.length);

describe("lines of hops race what ends their right, and", () => {
  let redis: Awaited<ReturnType<typeof startOwnRedis>>;
  let plane: Awaited<ReturnType<typeof startPlane>>;
  beforeAll(async () => {
    redis = await startOwnRedis();
    plane = await startPlane({ REDIS_URL: redis.url });
  });
  afterAll(async () => {
    await plane.stop();
    await redis.stop();
  });

  test.each(endings)(
    "$name: no allow is written afterwards, and each one before has its record, its spend and its token",
    async (ending) => {
      const races: Race[] = [];
      for (let seed = 0; seed < racesOfEach; seed += 1) {
        const race = await raceOnce(plane, ending, seededRandom(seed));
        expect({ seed, faults: faultsOf(race) }).toEqual({ seed, faults: [] });
        races.push(race);
      }
      // They did race: some lines were taken, some were decided again, and some were denied.
      const writes = races.flatMap((race) => race.writes);
      expect(new Set(writes.map(({ wasWritten }) => wasWritten))).toEqual(new Set([true, false]));
      expect(writes.some(({ isLate }) => isLate)).toBe(true);
    },
  );
});
