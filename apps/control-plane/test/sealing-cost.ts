/**
 * What sealing and verifying cost, and that the hot path does not pay for it: rows are committed by many callers at once, in turns
 * with nobody sealing and with everything sealed as it comes.
 *
 *   npx --yes pnpm@12.4.2 exec node --conditions=@svc/source apps/control-plane/test/sealing-cost.ts [rounds] [seconds]
 */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { type DecisionRecord, recordVersion } from "@svc/core";
import { createDatabase } from "@svc/test-support";
import { uuidv7 } from "uuidv7";
import { connect, poolOf, type Sql } from "../src/postgres/database.ts";
import { decisionLog } from "../src/postgres/decisions.ts";
import { migrate } from "../src/postgres/migrate.ts";
import { aKey, auditConnection, examine, sealer } from "./sealing.ts";

const [rounds = 5, seconds = 5] = process.argv.slice(2).map(Number);
const callers = 64;
const tickMs = 10;

const database = await createDatabase();
await migrate(database);
const pool = (maxConnections: number): Sql =>
  connect({ url: database.appUrl, maxConnections, statementTimeoutMs: 20_000 });
const [writer, sealing] = [pool(2), pool(1)];
const session = await aSession(writer);
const log = decisionLog(poolOf(writer, 5_000));

/** A session of a policy that grants nothing; its epochs. */
async function aSession(sql: Sql) {
  const sessionId = uuidv7();
  await sql`insert into compiled_policy (scope, version, schema_version, document, created_at) values ('s', 1, 1, '{}', now())`;
  await sql`
    insert into session (session_id, user_sub, scope, policy_version, hop_budget, consented_by, consented_at, expires_at)
    values (${sessionId}, 'ada', 's', 1, 4, 'admin', now(), now() + interval '1 day')`;
  await sql`insert into session_state (session_id) values (${sessionId})`;
  const [epochs] = await sql<{ session: string; denials: string }[]>`
    select s.epoch as session, d.epoch as denials from session_state s cross join denial_epoch d
    where s.session_id = ${sessionId}`;
  if (epochs === undefined) throw new Error("the session has no epochs");
  return { sessionId, epochs };
}

const aRecord = (): DecisionRecord => ({
  actionId: uuidv7(),
  recordVersion,
  sessionId: session.sessionId,
  stage: "authorize",
  hop: 2,
  chain: ["planner"],
  actingAgent: "planner",
  target: "http:ledger/read_entry",
  targetKind: "tool",
  dataClass: "finance.entries",
  decision: "allow",
  denyReason: null,
  recoverable: false,
  enforced: true,
  privileged: false,
  taint: "trusted_internal",
  taintSource: null,
  policyVersion: 1,
  guaranteeLevel: "network",
  parentActionId: null,
  decidedAtMs: Date.now(),
  present: null,
});

/** CPU that a process used so far, in milliseconds (proc(5): utime and stime). */
function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

const pidsOf = async (sql: Sql, count: number): Promise<readonly number[]> => {
  const rows = await Promise.all(
    Array.from({ length: count }, () => sql<{ pid: number }[]>`select pg_backend_pid() as pid, pg_sleep(0.2)`),
  );
  return [...new Set(rows.flatMap((row) => row.map(({ pid }) => pid)))];
};
const writers = await pidsOf(writer, 2);
const [sealingPid = 0] = await pidsOf(sealing, 1);

const key = await aKey();
const seals = sealer(sealing, () => key, { maxRows: 2_000 });

interface Sample {
  readonly rows: number;
  /** Microseconds of CPU a row: of the connections that commit, of the one that seals, and of this process. */
  readonly committing: number;
  readonly sealing: number;
  readonly process: number;
}

async function sample(isSealing: boolean): Promise<Sample> {
  const endMs = performance.now() + seconds * 1_000;
  const before = { writers: writers.map(cpuMs), sealing: cpuMs(sealingPid), process: process.cpuUsage() };
  let rows = 0;
  const caller = async () => {
    while (performance.now() < endMs) {
      await log.append(aRecord(), { kind: "none" }, session.epochs);
      rows++;
    }
  };
  const keeper = async () => {
    while (isSealing && performance.now() < endMs) {
      await seals.seal();
      await delay(500);
    }
  };
  await Promise.all([keeper(), ...Array.from({ length: callers }, caller)]);
  const own = process.cpuUsage(before.process);
  const committing = writers.reduce((sum, pid, index) => sum + cpuMs(pid) - (before.writers[index] ?? 0), 0);
  const perRow = (ms: number) => (ms * 1_000) / rows;
  return {
    rows: rows / seconds,
    committing: perRow(committing),
    sealing: perRow(cpuMs(sealingPid) - before.sealing),
    process: perRow((own.user + own.system) / 1_000),
  };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
const samples: Record<"off" | "on", Sample[]> = { off: [], on: [] };
await sample(false);
for (let round = 1; round <= rounds; round++) {
  for (const state of ["off", "on"] as const) {
    process.stderr.write(`round ${round} of ${rounds}: sealing ${state}\n`);
    samples[state].push(await sample(state === "on"));
    // What was left over is none of the next sample's work.
    await seals.seal();
  }
}
console.log("sealing  rows/s  CPU us a row: committing connections  sealing connection  this process");
for (const state of ["off", "on"] as const) {
  const of = (figure: keyof Sample) => median(samples[state].map((each) => each[figure]));
  const cells = [
    of("rows").toFixed(0),
    of("committing").toFixed(1),
    of("sealing").toFixed(1),
    of("process").toFixed(1),
  ];
  console.log(state.padEnd(7), ...cells.map((cell, index) => cell.padStart([7, 36, 19, 13][index] ?? 0)));
}
const auditor = auditConnection(database.superuserUrl);
const startMs = performance.now();
const { rows: verified, findings } = await examine(auditor, [key]);
const rate = (verified * 1_000) / (performance.now() - startMs);
console.log(`verified ${verified} rows at ${rate.toFixed(0)} rows/s, ${findings.length} findings`);
await Promise.all([writer.end(), sealing.end(), auditor.end()]);
await database.drop();
process.exit(0);
