import { testBearers } from "@svc/test-support";
import { loaded } from "../measure/loaded.ts";
import type { Subject } from "../measure/trial.ts";
import { registerLine } from "../rig/agents.ts";
import type { Bench } from "../rig/bench.ts";
import { seedDecisions, seededActionId } from "../rig/seed.ts";
import { startStack } from "../rig/stack.ts";

export const auditTrial = "audit";
export const fewRows = 10_000;
export const manyRows = ({ isQuick }: Bench["pace"]): number => (isQuick ? 100_000 : 10_000_000);

/** Audit reads of a small log and of a large one, through the audit plane. */
export async function audit(bench: Bench): Promise<void> {
  const many = manyRows(bench.pace);
  bench.note(auditTrial, "many", "rows", many);
  await bench.trial(auditTrial, [...(await readsOf(bench, "few", fewRows)), ...(await readsOf(bench, "many", many))]);
}

/** @param label completes "page on ..." */
export async function readsOf(bench: Bench, label: string, rows: number): Promise<readonly Subject[]> {
  const stack = bench.use(await startStack({ stores: bench.stores, upstream: bench.upstream.url }));
  await registerLine(stack.controlPlane.url, "bench", 1);
  await seedDecisions(stack.database.superuserUrl, rows);
  let turn = 0;
  const reads: Readonly<Record<string, () => string>> = {
    page: () => "/v1/audit/decisions?limit=50",
    "filtered page": () => "/v1/audit/decisions?limit=50&outcome=deny&agent=seed-agent-3",
    "would-block": () => "/v1/audit/would-block?limit=50",
    // Anywhere in the log, and the last action of its chain.
    chain: () => {
      turn = (turn + 7_919) % Math.floor(rows / 4);
      return `/v1/audit/actions/${seededActionId(turn * 4 + 3)}/chain`;
    },
  };
  return Object.entries(reads).map(([read, path]) =>
    loaded({
      name: `${read} on ${label}`,
      connections: 1,
      seconds: bench.pace.seconds,
      processes: { "control plane": stack.controlPlane.pid, PostgreSQL: bench.stores.postgresPid },
      target: () => ({
        origin: stack.controlPlane.url,
        call: () => ({ path: path(), headers: { authorization: `Bearer ${testBearers.audit}` } }),
      }),
    }),
  );
}
