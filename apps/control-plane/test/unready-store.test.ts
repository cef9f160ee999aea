import {
  type ControlPlane,
  createDatabase,
  requires,
  startControlPlane,
  startOwnRedis,
  startRedisCluster,
} from "@svc/test-support";
import { afterAll, expect, onTestFinished } from "vitest";

const { describe, test } = requires("redis-server");

const database = await createDatabase();
afterAll(() => database.drop());

/** It never becomes ready, so it serves once it is live. */
async function startOn(url: string): Promise<ControlPlane> {
  const plane = await startControlPlane({ database, redis: { url } }, {}, [], "/livez");
  onTestFinished(async () => void (await plane.stop()));
  return plane;
}

const ownServer = async (settings: readonly string[] = []) => {
  const server = await startOwnRedis(settings);
  onTestFinished(() => server.stop());
  return server;
};

const unfit: readonly (readonly [string, () => Promise<string>, string])[] = [
  [
    "one node of a cluster",
    async () => {
      const cluster = await startRedisCluster();
      onTestFinished(() => cluster.stop());
      return cluster.nodes[0]?.url ?? "";
    },
    "it is one node of a cluster",
  ],
  [
    "a replica",
    async () => {
      const primary = await ownServer();
      return (await ownServer([`replicaof 127.0.0.1 ${primary.port}`])).url;
    },
    "it is a replica",
  ],
  [
    "a server that refuses the password",
    async () => (await ownServer(["user svc on >secret ~svc:* +@all"])).url.replace("://", "://svc:wrong@"),
    "the server refuses user or password",
  ],
  [
    "a user without rights",
    async () => (await ownServer(["user svc on >secret ~svc:* +@read"])).url.replace("://", "://svc:secret@"),
    "its user may not run a command",
  ],
];

describe("a control plane on a cache store that cannot serve", () => {
  test.each(unfit)(
    "logs one line with the setting and the remedy, and is not ready: %s",
    async (_name, start, what) => {
      const plane = await startOn(await start());
      const lines = plane.output().match(/^.*REDIS_URL.*$/gm);
      expect(lines).toEqual([
        expect.stringMatching(new RegExp(`^WARNING: not ready. REDIS_URL: ${what}.*\\. [A-Z].*\\.$`)),
      ]);
      const response = await fetch(`${plane.url}/readyz`);
      const body = (await response.json()) as { details: { failing: string[] } };
      expect([response.status, body.details.failing]).toEqual([503, ["cache_store"]]);
    },
  );
});
