import { createPublicKey, generateKeyPairSync, type KeyObject, randomUUID } from "node:crypto";
import type { Processes } from "../measure/cpu.ts";
import type { Target } from "../measure/load.ts";
import type { Bench } from "./bench.ts";
import { type RunningServer, startServer } from "./node-server.ts";
import { createRowTable } from "./row-table.ts";
import type { TokenStock } from "./tokens.ts";

/**
 * The lower bound of a hop of this architecture on this runtime: time above it buys guarantees, a target below it
 * is out of reach.
 */
export interface Skeleton {
  readonly controlPlane: RunningServer;
  readonly enforcementPoint: RunningServer;
  /** Its signing key's. */
  readonly publicKey: KeyObject;
  /** Its one table's. */
  readonly databaseUrl: string;
  readonly sessionId: string;
  readonly processes: Processes;
  /** Each presented once, of a hop token's size. Their content is never read. */
  readonly tokens: Pick<TokenStock, "take">;
}

export async function startSkeleton({
  stores,
  upstream,
  use,
}: Pick<Bench, "stores" | "upstream" | "use">): Promise<Skeleton> {
  const { superuserUrl: databaseUrl } = await stores.database();
  await createRowTable(databaseUrl);
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const controlPlane = use(
    await startServer("reference/skeleton/control-plane.ts", [], {
      DATABASE_URL: databaseUrl,
      REDIS_URL: stores.redis.url,
      ISSUER_JWK: JSON.stringify(privateKey.export({ format: "jwk" })),
    }),
  );
  const enforcementPoint = use(
    await startServer("reference/skeleton/enforcement-point.ts", [controlPlane.url, upstream.url]),
  );
  const processes = {
    "control plane": controlPlane.pid,
    pep: enforcementPoint.pid,
    PostgreSQL: stores.postgresPid,
    Redis: stores.redisPid,
  };
  const publicKey = createPublicKey(privateKey);
  return {
    controlPlane,
    enforcementPoint,
    publicKey,
    databaseUrl,
    sessionId: randomUUID(),
    processes,
    tokens: tokens(),
  };
}

/** A hop token of one hop has 700 characters, of which the signature takes 86. */
function tokens(): Skeleton["tokens"] {
  const first = `${"h".repeat(113)}.${"p".repeat(499)}.${randomUUID()}`;
  let taken = 0;
  const take = () => {
    taken += 1;
    return `${first}${String(taken).padStart(50, "0")}`;
  };
  return { take };
}

export const throughSkeleton = ({ enforcementPoint, sessionId, tokens }: Skeleton): Target => ({
  origin: enforcementPoint.url,
  call: () => ({ path: "/read", headers: { authorization: `Bearer ${tokens.take()}`, "x-svc-session": sessionId } }),
});
