import { aManifest } from "@svc/test-support";
import postgres from "postgres";
import { uuidv7 } from "uuidv7";
import { afterAll, describe, expect, test } from "vitest";
import { connect, poolOf } from "../src/postgres/database.ts";
import { retention } from "../src/postgres/retention.ts";
import { registerAgent, startPlane } from "./support.ts";

const plane = await startPlane();
await registerAgent(plane, "clerk", aManifest("books"));
const owner = postgres(plane.database.ownerUrl, { max: 1, onnotice: () => {} });
const service = connect({ url: plane.database.appUrl, maxConnections: 1, statementTimeoutMs: 5_000 });
afterAll(async () => {
  await Promise.all([owner.end(), service.end()]);
  await plane.stop();
});

const keepHouse = () =>
  retention({ pool: poolOf(service, 5_000), clock: { nowMs: Date.now }, ids: { next: uuidv7 } }).retire();
const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);

async function issued(hoursSinceExpiry: number): Promise<Buffer> {
  const hash = Buffer.from(uuidv7());
  await owner`
    insert into enroll_token (token_hash, agent_id, issued_by, issued_at, expires_at)
    select ${hash}, agent_id, 'alice', now(), ${hoursAgo(hoursSinceExpiry)} from agent`;
  return hash;
}

interface Lapse {
  readonly enrollment: number;
  /** Of the enroll token that it used; none. */
  readonly token?: number;
}

async function enrolled({ enrollment, token }: Lapse): Promise<string> {
  const [id, hash] = [uuidv7(), token === undefined ? null : await issued(token)];
  await owner`
    insert into enrollment (enrollment_id, agent_id, jwk, thumbprint, challenge, quarantine_reason, begun_by,
      enroll_token_hash, begun_at, expires_at)
    select ${id}, agent_id, '{}', ${id}, 'c', 'NO_PRINCIPAL', 'alice', ${hash}, now(), ${hoursAgo(enrollment)} from agent`;
  return id;
}

describe("housekeeping deletes a sign-in", () => {
  test.each([
    ["that ended two days ago", 48, false],
    ["that ended an hour ago", 1, true],
    ["that runs", -1, true],
  ])("%s, kept %j", async (_name, hoursSinceExpiry, isKept) => {
    const id = uuidv7();
    await owner`
      insert into sign_in (sign_in_id, cookie_hash, issuer, subject, groups, id_token_hash, begun_at, expires_at)
      values (${id}, ${Buffer.from(id)}, 'https://idp.test', 'ada', '{}', 'h', now(), ${hoursAgo(hoursSinceExpiry)})`;
    expect(await keepHouse()).toBe("done");
    expect(await owner`select from sign_in where sign_in_id = ${id}`).toHaveLength(isKept ? 1 : 0);
  });
});

const tenDaysAhead = -240;

describe("housekeeping deletes an enrollment", () => {
  test.each<[string, Lapse, boolean]>([
    ["that ended two days ago", { enrollment: 48 }, false],
    ["that ended an hour ago", { enrollment: 1 }, true],
    ["that is open", { enrollment: -1 }, true],
    ["whose token ended two days ago", { enrollment: 72, token: 48 }, false],
    ["whose token is still valid", { enrollment: 48, token: tenDaysAhead }, true],
    ["whose token ended an hour ago", { enrollment: 48, token: 1 }, true],
  ])("%s: %j, kept %j", async (_name, lapse, isKept) => {
    const id = await enrolled(lapse);
    expect(await keepHouse()).toBe("done");
    expect(await owner`select from enrollment where enrollment_id = ${id}`).toHaveLength(isKept ? 1 : 0);
  });

  test("in any number of batches", async () => {
    await owner`
      insert into enrollment (enrollment_id, agent_id, jwk, thumbprint, challenge, quarantine_reason, begun_by, begun_at,
        expires_at)
      select gen_random_uuid(), agent_id, '{}', 't', 'c', 'NO_PRINCIPAL', 'alice', now(), ${hoursAgo(48)}
      from agent, generate_series(1, 11000)`;
    expect(await keepHouse()).toBe("done");
    expect(await owner`select from enrollment where thumbprint = 't'`).toHaveLength(0);
  });
});

describe("housekeeping deletes an enroll token", () => {
  const tokens = async (): Promise<readonly string[]> => {
    const rows = await owner<{ hash: string }[]>`select convert_from(token_hash, 'UTF8') as hash from enroll_token`;
    return rows.map(({ hash }) => hash);
  };

  test.each<[string, number, boolean]>([
    ["that ended two days ago", 48, false],
    ["that ended an hour ago", 1, true],
    ["that is valid", tenDaysAhead, true],
  ])("%s: %i hours ago, kept %j", async (_name, hours, isKept) => {
    const hash = (await issued(hours)).toString();
    expect(await keepHouse()).toBe("done");
    expect((await tokens()).includes(hash)).toBe(isKept);
  });

  test("that was used, together with its enrollment", async () => {
    const kept = await enrolled({ enrollment: tenDaysAhead, token: 48 });
    const gone = await enrolled({ enrollment: 48, token: 48 });
    const hashOf = (id: string) => owner<{ hash: string }[]>`
      select convert_from(enroll_token_hash, 'UTF8') as hash from enrollment where enrollment_id = ${id}`;
    const [[keptToken], [goneToken]] = [await hashOf(kept), await hashOf(gone)];
    expect(await keepHouse()).toBe("done");
    expect(await tokens()).toContain(keptToken?.hash);
    expect(await tokens()).not.toContain(goneToken?.hash);
  });

  test("in any number of batches", async () => {
    await owner`
      insert into enroll_token (token_hash, agent_id, issued_by, issued_at, expires_at)
      select decode(md5(n::text), 'hex'), agent_id, 'many', now(), ${hoursAgo(48)} from agent, generate_series(1, 11000) n`;
    expect(await keepHouse()).toBe("done");
    expect(await owner`select from enroll_token where issued_by = 'many'`).toHaveLength(0);
  });

  test.each([
    "delete from enroll_token",
    "update enroll_token set expires_at = now() - interval '9 days'",
    "truncate enroll_token cascade",
  ])("and no role deletes or changes a valid one: %s", async (statement) => {
    await issued(tenDaysAhead);
    await expect(owner.unsafe(statement)).rejects.toThrow(/append-only/);
  });
});

test("housekeeping deletes a block that lapsed more than a day ago, and no other", async () => {
  for (const [ref, until] of [
    ["lapsed-long-ago", hoursAgo(25)],
    ["just-lapsed", hoursAgo(1)],
    ["standing", hoursAgo(tenDaysAhead)],
    ["for-good", null],
  ] as const) {
    await owner`insert into block (kind, ref, reason, until, created_at) values ('tool', ${ref}, 'r', ${until}, now())`;
  }
  await keepHouse();
  const refs = (await owner<{ ref: string }[]>`select ref from block order by ref`).map(({ ref }) => ref);
  expect(refs).toEqual(["for-good", "just-lapsed", "standing"]);
});

test("housekeeping deletes a superseded key after everything it signed has expired, and never the current or next key", async () => {
  const kids = () => owner<{ kid: string }[]>`select kid from signing_key order by activates_at`;
  const [signing] = await kids();
  const add = (kid: string, activatesAt: Date, removedAt: Date | null = null) => owner`
    insert into signing_key (kid, public_jwk, sealed_private_jwk, created_at, activates_at, removed_at)
    values (${kid}, '{}', ${removedAt === null ? "sealed" : null}, now(), ${activatesAt}, ${removedAt})`;
  await owner`update signing_key set activates_at = ${hoursAgo(30)}`;
  await add("superseded-three-days-ago", hoursAgo(90));
  await add("superseded-30-hours-ago", hoursAgo(72));
  await add("removed-by-hand", hoursAgo(100), hoursAgo(99));
  await add("next", hoursAgo(-1));
  await keepHouse();
  expect((await kids()).map(({ kid }) => kid)).toEqual([
    "removed-by-hand",
    "superseded-30-hours-ago",
    signing?.kid,
    "next",
  ]);
});

test("the service's role cannot delete enrollments, enroll tokens or keys", async () => {
  await enrolled({ enrollment: 1 });
  await expect(service`delete from enrollment`).rejects.toThrow(/permission denied/);
  await expect(service`delete from enroll_token`).rejects.toThrow(/permission denied/);
  await expect(service`delete from signing_key`).rejects.toThrow(/permission denied/);
});
