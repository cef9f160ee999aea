import type { WitnessMemory } from "../ports/witness.ts";
import type { AnsweringStore } from "./answering.ts";

/** One key a deployment, so that on a cluster each command concerns one node. Scripts are read from the primary. */
const keyOf = (deployment: string): string => `svc:witness:${deployment}`;

const readScript = "return redis.call('GET', KEYS[1])";

/** Numbers of these scripts are doubles: exact for longer than anybody counts. */
const keepScript =
  "if tonumber(ARGV[1]) > tonumber(redis.call('GET', KEYS[1]) or '0') then redis.call('SET', KEYS[1], ARGV[1]) end " +
  "return 0";

/** Kept without an end: it is the oldest backup that has to be told from the newest state. */
export const redisWitness = (store: Pick<AnsweringStore, "ask">): WitnessMemory => ({
  async seen(deployment) {
    const kept = await store.ask((now) => now.evaluate(readScript, { keys: [keyOf(deployment)], arguments: [] }));
    return BigInt(kept === null ? 0 : String(kept));
  },
  async keep({ deployment, count }) {
    const given = { keys: [keyOf(deployment)], arguments: [String(count)] };
    await store.ask((now) => now.evaluate(keepScript, given));
  },
});
