import { createDatabase, type TestDatabase, waitUntil } from "@svc/test-support";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { embeddedGuard } from "../src/embedded/guard.ts";
import { AnotherProcess, advisoryLock, soleProcess } from "../src/embedded/sole-process.ts";
import { GuardUnavailable } from "../src/ports/replay-guard.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const start = () => soleProcess(embeddedGuard(), database.appUrl);

test("a second process without a cache store is refused while the first runs, and admitted after it", async () => {
  const first = await start();
  await expect(start()).rejects.toBeInstanceOf(AnotherProcess);
  await first.ping();
  await first.close();
  const second = await start();
  await second.ping();
  await second.close();
});

test("a lost lock refuses claims until it is taken again", async () => {
  const guard = await start();
  const rival = postgres(database.superuserUrl, { max: 1 });
  const admin = postgres(database.superuserUrl, { max: 1 });
  const rivalHolds = rival`select pg_advisory_lock(${advisoryLock})`.execute();
  await waitUntil("the rival to wait in line", async () => {
    const [row] =
      await admin`select count(*)::int as waiting from pg_locks where locktype = 'advisory' and not granted`;
    return row?.waiting === 1;
  });
  await admin`
    select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'svc-sole-process' and datname = current_database()`;
  await rivalHolds;
  await waitUntil("the loss to be noticed", () =>
    guard.ping().then(
      () => false,
      () => true,
    ),
  );
  const claim = () => guard.claim({ key: "k", actionId: "a", ttlSeconds: 60 });
  await expect(claim()).rejects.toBeInstanceOf(GuardUnavailable);
  await rival.end();
  expect(await waitUntil("the lock to be taken again", claim)).toBe("claimed");
  await guard.close();
  await admin.end();
});
