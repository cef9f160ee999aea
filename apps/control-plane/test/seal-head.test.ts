import { sealHash } from "@svc/seals";
import { waitUntil } from "@svc/test-support";
import { type VerificationKey, verificationKeyOf } from "@svc/tokens";
import type postgres from "postgres";
import { uuidv7 } from "uuidv7";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SealsUnproven } from "../src/ports/record-seals.ts";
import { authenticity } from "../src/postgres/authenticity.ts";
import { connect, type Sql } from "../src/postgres/database.ts";
import { recorder } from "./decision-rows.ts";
import { aKey, auditConnection, examine, marks, sealEverything, sealer } from "./sealing.ts";
import { startPlane } from "./support.ts";

/** What the sealer continues from. Whatever was written into the table of seals, every row is sealed in one chain. */
const key = await aKey();
const lookup = async (...keys: readonly (typeof key)[]) =>
  new Map<string, VerificationKey>(
    await Promise.all(keys.map(async (each) => [each.kid, await verificationKeyOf(each)] as const)),
  );

let plane: Awaited<ReturnType<typeof startPlane>>;
let rows: Awaited<ReturnType<typeof recorder>>;
let service: Sql;
let auditor: postgres.Sql;
beforeEach(async () => {
  plane = await startPlane();
  rows = await recorder(plane);
  service = connect({ url: plane.database.appUrl, maxConnections: 2, statementTimeoutMs: 5_000 });
  auditor = auditConnection(plane.database.superuserUrl);
  for (let n = 0; n < 2; n++) {
    await rows.record();
    await sealEverything(sealer(service, () => key));
  }
});
afterEach(async () => {
  await Promise.all([rows.sql.end(), service.end(), auditor.end()]);
  await plane.stop();
});

const batches = async (): Promise<readonly number[]> =>
  (await auditor<{ batch: string }[]>`select batch from seal order by batch`).map(({ batch }) => Number(batch));
/** As the service's role, which may insert. */
const insert = (batch: string, statement = "x.y.z") =>
  rows.sql`insert into seal (batch, statement, entries) values (${batch}, ${statement}, '')`;
const newest = async (): Promise<{ batch: number; statement: string }> => {
  const [row] = await auditor<{ batch: string; statement: string }[]>`
    select batch, statement from seal order by batch desc limit 1`;
  return { batch: Number(row?.batch), statement: row?.statement ?? "" };
};

describe("a foreign row in the table of seals", () => {
  test.each<[string, (last: number) => string, readonly number[], boolean]>([
    ["of the next number", (last) => String(last + 1), [1, 2], false],
    ["of a far number", () => "1000000000000", [1, 2], false],
    ["of a number that none can follow", () => "9223372036854775807", [1, 2], true],
  ])("%s is reported, and passed over", async (_name, numberAfter, _before, stays) => {
    const last = (await newest()).batch;
    const foreign = numberAfter(last);
    await insert(foreign);
    await rows.record();
    const seals = sealer(service, () => key);
    await sealEverything(seals);
    expect(seals.unproven()).toEqual(stays ? [Number(foreign)] : []);
    const { findings, unsealed } = await examine(auditor, [key]);
    expect(findings.map(({ kind, batch }) => [kind, batch])).toContainEqual(["seal_unreadable", Number(foreign)]);
    expect(findings.every(({ batch }) => batch === Number(foreign))).toBe(true);
    expect(unsealed.rows).toBe(0);
  });

  test("is reported before it is passed over", async () => {
    await insert(String((await newest()).batch + 1));
    const seals = sealer(service, () => key);
    await seals.oldestUnsealedMs();
    expect(seals.unproven()).toHaveLength(1);
  });

  test("is passed over without new rows too, so that one process after the other is ready again", async () => {
    await insert(String((await newest()).batch + 1));
    const before = await batches();
    const seals = sealer(service, () => key);
    // Without a row to wait for: until a moment is settled, which takes as long as another test's transaction.
    await waitUntil("a seal over the foreign row", async () => {
      await seals.seal();
      return (await batches()).length === before.length + 1;
    });
    await sealEverything(sealer(service, () => key));
    expect(await batches()).toHaveLength(before.length + 1);
  });

  test("alone stops sealing with what to do: nothing is chained to it", async () => {
    await auditor.unsafe(
      "alter table seal disable trigger all; truncate seal; alter table seal enable always trigger append_only, enable always trigger append_only_whole",
    );
    await insert("1");
    const seals = sealer(service, () => key);
    await expect(seals.oldestUnsealedMs()).rejects.toThrow(SealsUnproven);
    await expect(seals.oldestUnsealedMs()).rejects.toThrow(/svc audit verify/);
    expect(await batches()).toEqual([1]);
  });
});

describe("a seal is continued", () => {
  const nobody = authenticity(new Uint8Array(32).fill(1));
  const hasFollower = async (proof: { authenticity: typeof marks; keys: () => Map<string, VerificationKey> }) => {
    const before = (await newest()).batch;
    await rows.record();
    const seals = sealer(service, () => key, { proof });
    return sealEverything(seals).then(
      async () => (await newest()).batch > before && (await examine(auditor, [key])).findings.length === 0,
      () => false,
    );
  };
  const withoutMarks = async () => {
    await auditor.unsafe("alter table seal disable trigger user");
    await auditor.unsafe("update seal set mac = null");
    await auditor.unsafe("alter table seal enable always trigger append_only, enable always trigger append_only_whole");
  };

  test("by its mark, though its key was removed", async () => {
    expect(await hasFollower({ authenticity: marks, keys: () => new Map() })).toBe(true);
  });

  test("by its signature, where a release that makes no marks wrote it", async () => {
    await withoutMarks();
    const keys = await lookup(key);
    expect(await hasFollower({ authenticity: marks, keys: () => keys })).toBe(true);
  });

  test("by the list that the migration made, where neither can be known", async () => {
    await withoutMarks();
    const { batch, statement } = await newest();
    await auditor`insert into unmarked values ('seal', '', ${batch}, ${sealHash(statement)})`;
    expect(await hasFollower({ authenticity: marks, keys: () => new Map() })).toBe(true);
  });

  test("by nothing else: not under another secret and with other keys", async () => {
    const others = await lookup(await aKey());
    await expect(
      sealer(service, () => key, { proof: { authenticity: nobody, keys: () => others } }).oldestUnsealedMs(),
    ).rejects.toThrow(SealsUnproven);
  });
});

test("the service's role cannot add to the list of what was there before marks", async () => {
  const add = rows.sql`insert into unmarked values ('policy', ${uuidv7()}, 1, 'x')`;
  await expect(add).rejects.toThrow(/permission denied/);
});
