import type { HighWaterMarkStore } from "../ports/high-water-mark.ts";
import type { AnsweringStore } from "./answering.ts";

/** One key per deployment, so that each command concerns one node of a cluster. Scripts read from the primary. */
const keyOf = (deployment: string): string => `svc:witness:${deployment}`;

const readScript = "return redis.call('GET', KEYS[1])";

/** Numbers of scripts are doubles: exact up to 2^53. */
const keepScript =
  "if tonumber(ARGV[1]) > tonumber(redis.call('GET', KEYS[1]) or '0') then redis.call('SET', KEYS[1], ARGV[1]) end " +
  "return 0";

/** Without expiry, since a restored backup may be of any age. */
export const redisHighWaterMark = (store: Pick<AnsweringStore, "ask">): HighWaterMarkStore => ({
  async seen(deployment) {
    const kept = await store.ask((redis) => redis.evaluate(readScript, { keys: [keyOf(deployment)], arguments: [] }));
    return BigInt(kept === null ? 0 : String(kept));
  },
  async keep({ deployment, count }) {
    const given = { keys: [keyOf(deployment)], arguments: [String(count)] };
    await store.ask((redis) => redis.evaluate(keepScript, given));
  },
});
