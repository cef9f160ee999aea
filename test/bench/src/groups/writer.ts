import { type DecisionRecord, recordVersion } from "@svc/core";
import postgres from "postgres";
import { uuidv7 } from "uuidv7";
// By their paths: only the apps' own tests and their benchmark may import them.
import { connect, poolOf } from "../../../../apps/control-plane/src/postgres/database.ts";
import { decisionLog } from "../../../../apps/control-plane/src/postgres/decisions.ts";
import { repeated } from "../measure/repeated.ts";
import type { Subject } from "../measure/trial.ts";
import { groupedRows } from "../reference/skeleton/rows.ts";
import { admin } from "../rig/admin.ts";
import type { Bench } from "../rig/bench.ts";
import { createRowTable, newRow } from "../rig/row-table.ts";
import { onePgbench } from "./hop-alone.ts";
import type { HopRig } from "./hop-rig.ts";

export const writerTrial = "rows at 64";
const callers = 64;

/** The audit writer as the control plane uses it, under its epochs, against PostgreSQL's own driver on a bare table. */
export async function writer(bench: Bench, { stack, line }: HopRig): Promise<void> {
  const consent = { scope: line.scope, user_sub: "bench" };
  const { session_id: sessionId } = await admin<{ session_id: string }>(stack.controlPlane.url, "/v1/consent", consent);
  const epochs = await epochsOf(stack.database.superuserUrl, sessionId);
  const pool = (maxConnections: number) =>
    connect({ url: stack.database.appUrl, maxConnections, statementTimeoutMs: 5_000 });
  const writing = pool(4);
  bench.use({ stop: () => writing.end() });
  const log = decisionLog(poolOf(writing, 5_000));
  const ours = repeated({
    name: "audit writer",
    seconds: bench.pace.seconds,
    connections: callers,
    processes: { PostgreSQL: bench.stores.postgresPid },
    async act() {
      const committed = await log.append(aRecord(sessionId), { kind: "none" }, epochs);
      if (committed === "stale") throw new Error("the session changed while its records were written");
    },
  });
  const subjects = [ours, await skeletonWriter(bench), await onePgbench(bench, "pgbench", callers)];
  await bench.trial(writerTrial, subjects, bench.pace.closeRounds);
}

/** Rows of a bare table in batches of this size. */
async function skeletonWriter(bench: Bench): Promise<Subject> {
  const { superuserUrl } = await bench.stores.database();
  await createRowTable(superuserUrl);
  const sql = postgres(superuserUrl, { max: 2 });
  bench.use({ stop: () => sql.end() });
  const commit = groupedRows(sql);
  return repeated({
    name: "skeleton",
    seconds: bench.pace.seconds,
    connections: callers,
    processes: { PostgreSQL: bench.stores.postgresPid },
    act: () => commit(newRow()),
  });
}

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
