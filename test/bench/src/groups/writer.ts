import { randomBytes } from "node:crypto";
import { type DecisionRecord, recordVersion } from "@svc/core";
import postgres from "postgres";
import { uuidv7 } from "uuidv7";
// By their paths: only the apps' own tests and their benchmark may import them.
import { connect, poolOf } from "../../../../apps/control-plane/src/postgres/database.ts";
import { hopLedger } from "../../../../apps/control-plane/src/postgres/hops.ts";
import { repeated } from "../measure/repeated.ts";
import type { Subject } from "../measure/trial.ts";
import { grouped } from "../reference/skeleton/grouped.ts";
import { admin } from "../rig/admin.ts";
import type { Bench } from "../rig/bench.ts";
import { createRowTable, insertRows, newRow, type Row } from "../rig/row-table.ts";
import { onePgbench } from "./hop-alone.ts";
import type { HopRig } from "./hop-rig.ts";

export const writerTrial = "rows at 64";
const callers = 64;

/** A decision and its spend. */
const rowsOfHop = 2;

/** Hops as the control plane commits them, under their epochs, against PostgreSQL's own driver on a bare table. */
export async function writer(bench: Bench, { stack, line }: HopRig): Promise<void> {
  const consent = { scope: line.scope, user_sub: "bench" };
  const { session_id: sessionId } = await admin<{ session_id: string }>(stack.controlPlane.url, "/v1/consent", consent);
  const epochs = await epochsOf(stack.database.superuserUrl, sessionId);
  const pool = (maxConnections: number) =>
    connect({ url: stack.database.appUrl, maxConnections, statementTimeoutMs: 5_000 });
  const writing = pool(4);
  bench.use({ stop: () => writing.end() });
  const ledger = hopLedger(poolOf(writing, 5_000));
  const ours = repeated({
    name: "hop rows",
    seconds: bench.pace.seconds,
    connections: callers,
    processes: { PostgreSQL: bench.stores.postgresPid },
    async act() {
      const record = aRecord(sessionId);
      const committed = await ledger.take(record, spendOf(record), epochs);
      if (committed.kind !== "spent") throw new Error(`a hop was ${committed.kind} instead of spent`);
    },
  });
  const subjects = [perRow(ours), await skeletonWriter(bench), await onePgbench(bench, "pgbench", callers)];
  await bench.trial(writerTrial, subjects, bench.pace.closeRounds);
}

/** Two rows of a bare table for each call, in batches of this size. */
async function skeletonWriter(bench: Bench): Promise<Subject> {
  const { superuserUrl } = await bench.stores.database();
  await createRowTable(superuserUrl);
  const sql = postgres(superuserUrl, { max: 2 });
  bench.use({ stop: () => sql.end() });
  const commit = grouped<readonly Row[]>((batch) => insertRows(sql, batch.flat()));
  return perRow(
    repeated({
      name: "skeleton",
      seconds: bench.pace.seconds,
      connections: callers,
      processes: { PostgreSQL: bench.stores.postgresPid },
      act: () => commit([newRow(), newRow()]),
    }),
  );
}

/** The rate of the rows of calls. */
const perRow = ({ name, sample }: Subject): Subject => ({
  name,
  async sample() {
    const { rate = Number.NaN, ...figures } = await sample();
    return { ...figures, rate: rate * rowsOfHop };
  },
});

async function epochsOf(url: string, sessionId: string): Promise<{ session: string; denials: string }> {
  const sql = postgres(url, { max: 1 });
  try {
    const [row] = await sql<{ session: string; denials: string }[]>`
      select s.epoch as session, d.epoch as denials from session_state s cross join denial_epoch d
      where s.session_id = ${sessionId}`;
    if (row === undefined) throw new Error("the consent made no session");
    return { ...row };
  } finally {
    await sql.end();
  }
}

const aRecord = (sessionId: string): DecisionRecord => ({
  actionId: uuidv7(),
  recordVersion,
  sessionId,
  stage: "authorize",
  hop: 2,
  chain: ["bench-agent-1"],
  actingAgent: "bench-agent-1",
  target: "http:bench/read",
  targetKind: "tool",
  dataClass: "bench",
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

const spendOf = ({ actionId, sessionId, decidedAtMs }: DecisionRecord) => ({
  kind: "exchange" as const,
  ...{ actionId, sessionId },
  jtiHash: randomBytes(32),
  siblingJtiHash: randomBytes(32),
  prover: undefined,
  spentAtMs: decidedAtMs,
});
