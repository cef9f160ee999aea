import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createDatabase,
  freePort,
  type OwnRedis,
  type Pooler,
  requires,
  startControlPlane,
  startOwnRedis,
  startPgBouncer,
  type TestDatabase,
  waitUntil,
  writeCertificate,
} from "@svc/test-support";
import { afterAll, beforeAll, expect } from "vitest";
import { requireOwnServerProcess } from "../src/postgres/server-process.ts";
import { parseStoreAddress } from "../src/redis/address.ts";
import { redisGuard } from "../src/redis/guard.ts";

const { describe, test } = requires("openssl", "redis-server", "pgbouncer");

describe("stores whose certificates a private authority signed", () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-authority-"));
  let database: TestDatabase;
  let pooler: Pooler;
  let store: OwnRedis;
  let sentinel: OwnRedis;
  let certFile: string;
  let urls: { readonly database: string; readonly single: string; readonly sentinel: string };
  beforeAll(async () => {
    const certificate = writeCertificate(folder, "stores", "DNS:localhost,IP:127.0.0.1");
    const { keyFile } = certificate;
    certFile = certificate.certFile;
    chmodSync(folder, 0o755);
    chmodSync(keyFile, 0o644);
    database = await createDatabase();
    pooler = await startPgBouncer(database, "session", [
      "ignore_startup_parameters = statement_timeout, lock_timeout, idle_in_transaction_session_timeout, synchronous_commit, plan_cache_mode",
      "client_tls_sslmode = require",
      `client_tls_key_file = ${keyFile}`,
      `client_tls_cert_file = ${certFile}`,
    ]);
    const [tlsPort, sentinelPort] = [await freePort(), await freePort()];
    const overTls = (port: number) => [
      `tls-port ${port}`,
      `tls-cert-file ${certFile}`,
      `tls-key-file ${keyFile}`,
      `tls-ca-cert-file ${certFile}`,
      "tls-auth-clients no",
      "tls-replication yes",
    ];
    store = await startOwnRedis(overTls(tlsPort));
    const monitor = `sentinel monitor mymaster 127.0.0.1 ${tlsPort} 1`;
    sentinel = await startOwnRedis([...overTls(sentinelPort), monitor], ["--sentinel"]);
    urls = {
      database: `${pooler.appUrl}?sslmode=verify-full`,
      single: `rediss://127.0.0.1:${tlsPort}`,
      sentinel: `rediss+sentinel://127.0.0.1:${sentinelPort}/mymaster`,
    };
  });
  afterAll(async () => {
    await Promise.all([pooler.stop(), store.stop(), sentinel.stop()]);
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  test.each(["single", "sentinel"] as const)("serve with NODE_EXTRA_CA_CERTS: %s", async (kind) => {
    const plane = await startControlPlane(
      { database: { ownerUrl: database.ownerUrl, appUrl: urls.database }, redis: { url: urls[kind] } },
      { NODE_EXTRA_CA_CERTS: certFile },
    );
    await plane.stop();
  });

  test("are refused without it by a line that names DATABASE_URL and the remedy", async () => {
    await expect(requireOwnServerProcess("DATABASE_URL", urls.database)).rejects.toThrow(
      /^DATABASE_URL: the server's certificate is not trusted .*NODE_EXTRA_CA_CERTS/,
    );
  });

  test.each(["single", "sentinel"] as const)(
    "are refused without it by a line that names REDIS_URL and the remedy: %s",
    async (kind) => {
      const guard = redisGuard({ address: parseStoreAddress(urls[kind]) });
      try {
        const line = /^REDIS_URL: its certificate is not trusted.*NODE_EXTRA_CA_CERTS/;
        await waitUntil("the refusal to be known", () =>
          guard.ping().then(
            () => false,
            ({ message }: Error) => line.test(message),
          ),
        );
      } finally {
        await guard.close();
      }
    },
  );
});
