import { randomUUID } from "node:crypto";
import {
  generatePrivateJwk,
  importIssuerKey,
  issueHopToken,
  rootGrantClaims,
  verificationKeyOf,
  verifyToken,
} from "@svc/tokens";
import postgres from "postgres";
import { createClient } from "redis";
import { loaded } from "../measure/loaded.ts";
import { repeated } from "../measure/repeated.ts";
import type { Subject } from "../measure/trial.ts";
import type { Bench } from "../rig/bench.ts";
import { startServer } from "../rig/node-server.ts";
import { createRowTable, insertRow, insertRows, newRow } from "../rig/row-table.ts";

const requestBody = JSON.stringify({
  session_id: randomUUID(),
  subject_token: "x".repeat(700),
  target: "http:bench/read",
});

/** The parts of a hop, each alone and with the least overhead possible. */
export interface Parts {
  /** For one client. */
  readonly alone: readonly Subject[];
  /** For many at once. */
  readonly crowded: readonly Subject[];
}

export const partNames = { http: "http", commit: "commit", guard: "guard", sign: "sign", verify: "verify" } as const;

export async function prepareParts(bench: Bench): Promise<Parts> {
  const { stores, pace } = bench;
  const bare = bench.use(await startServer("servers/bare.ts"));
  const database = await stores.database();
  await createRowTable(database.superuserUrl);
  const sql = postgres(database.superuserUrl, { max: 2 });
  const redis = await createClient({ url: stores.redis.url }).connect();
  bench.use({ stop: async () => Promise.all([sql.end(), redis.close()]) });
  const crypto = await signatures();
  const seconds = pace.seconds;
  const http = (connections: number) =>
    loaded({
      name: partNames.http,
      connections,
      seconds,
      processes: { server: bare.pid },
      target: () => ({
        origin: bare.url,
        call: () => ({ method: "POST", path: "/", headers: { "content-type": "application/json" }, body: requestBody }),
      }),
    });
  const store = { PostgreSQL: stores.postgresPid, Redis: stores.redisPid };
  const guard = (connections: number) =>
    repeated({
      name: partNames.guard,
      seconds,
      connections,
      processes: store,
      act: () => redis.set(randomUUID(), "x", { condition: "NX", expiration: { type: "EX", value: 120 } }),
    });
  const signing = [
    repeated({ name: partNames.sign, seconds, act: crypto.sign }),
    repeated({ name: partNames.verify, seconds, act: crypto.verify }),
  ];
  const commit = repeated({ name: partNames.commit, seconds, processes: store, act: () => insertRow(sql) });
  // Two batches of 16 in flight: what 32 callers form.
  const batches = repeated({
    name: partNames.commit,
    seconds,
    connections: 2,
    processes: store,
    act: () => insertRows(sql, Array.from({ length: 16 }, newRow)),
  });
  return { alone: [http(1), commit, guard(1), ...signing], crowded: [http(32), batches, guard(32), ...signing] };
}

async function signatures() {
  const key = await importIssuerKey(await generatePrivateJwk());
  const keys = new Map([[key.kid, await verificationKeyOf(key)]]);
  const issuer = "http://127.0.0.1";
  const nowSeconds = Date.now() / 1000;
  const claims = rootGrantClaims(
    { issuer, userSub: "bench", scope: "bench", sessionId: randomUUID(), policyVersion: 1 },
    { jti: randomUUID(), nowSeconds, sessionExpiresAtSeconds: nowSeconds + 86_400 },
  );
  const token = await issueHopToken(key, claims);
  return {
    sign: () => issueHopToken(key, claims),
    verify: () => verifyToken("hop", token, { keys, issuer, nowSeconds }),
  };
}
