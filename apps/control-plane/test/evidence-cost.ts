/**
 * What an export of the record costs, and its verification by the script in its folder: time, size and memory.
 *
 *   npx --yes pnpm@12.4.2 exec node --conditions=@svc/source apps/control-plane/test/evidence-cost.ts [rows] [format]
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { evidenceFormats, writeEvidence } from "@svc/seals";
import { createMigratedDatabase } from "@svc/test-support";
import postgres from "postgres";
import { uuidv7 } from "uuidv7";
import { connect } from "../src/postgres/database.ts";
import { aKey, auditConnection, readerOf, sealEverything, sealer } from "./sealing.ts";

const [rowsText = "1000000", formatText = "jsonl"] = process.argv.slice(2);
const rows = Number(rowsText);
const format = evidenceFormats.find((each) => each === formatText) ?? "jsonl";

const database = await createMigratedDatabase();
const folder = mkdtempSync(join(tmpdir(), "svc-evidence-cost-"));
const owner = postgres(database.superuserUrl, { max: 1, onnotice: () => {} });
const auditor = auditConnection(database.superuserUrl);
const sealing = connect({ url: database.appUrl, maxConnections: 1, statementTimeoutMs: 60_000 });
const key = await aKey();

async function timed<T>(name: string, work: () => Promise<T>): Promise<T> {
  const startMs = performance.now();
  const result = await work();
  const seconds = (performance.now() - startMs) / 1_000;
  print(`${name}: ${seconds.toFixed(1)} s, ${Math.round(rows / seconds)} rows a second`);
  return result;
}
const print = (line: string): void => void process.stdout.write(`${line}\n`);

try {
  // Made over the last half hour.
  const startMs = Date.now() - 1_800_000;
  await timed("rows inserted", async () => {
    await owner`
      insert into decision (action_id, record_version, session_id, stage, hop, chain, acting_agent, target, target_kind,
        data_class, decision, recoverable, enforced, privileged, taint, policy_version, decided_at)
      select (lpad(to_hex(${startMs}::bigint + (n * 1700000::bigint / ${rows})), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
        2, gen_random_uuid(), 'authorize', 1, '{}', 'ada', 'planner', 'agent', 'finance.entries', 'allow', false, true, false,
        'trusted_internal', 1, now()
      from generate_series(1, ${rows}::bigint) n`;
  });
  await timed("sealed", () => sealEverything(sealer(sealing, () => key)));
  // A full batch ends at its last row: a later row's seal says that nothing was left out after it.
  await owner`insert into administrative_event (event_id, kind, ts, actor) values (${uuidv7()}, 'block_set', now(), 'a')`;
  await sealEverything(sealer(sealing, () => key));
  const to = join(folder, "evidence");
  const options = { reader: readerOf(auditor), folder: to, format, sinceMs: startMs - 1, nowMs: Date.now() };
  const { rows: exported } = await timed("exported", () => writeEvidence(options));
  const bytes = readdirSync(to).reduce((sum, name) => sum + statSync(join(to, name)).size, 0);
  print(`${exported} rows as ${format}, ${Math.round(bytes / 2 ** 20)} MiB, peak of this process ${peakMib()} MiB`);
  await timed("verified", async () => {
    const atEnd = `process.on("exit", () => {
      const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
      console.log("peak", maxRSS >> 10, "MiB, processor time", (userCPUTime + systemCPUTime) / 1e6, "s");
    })`;
    const args = ["--import", `data:text/javascript,${encodeURIComponent(atEnd)}`, join(to, "verify.mjs")];
    const { stdout, stderr } = spawnSync(process.execPath, [...args, "--key", key.kid], { encoding: "utf8" });
    print(`${stdout}${stderr}`.trim());
  });
} finally {
  await Promise.all([owner.end(), auditor.end(), sealing.end()]);
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
}

function peakMib(): number {
  return Math.round(process.resourceUsage().maxRSS / 1_024);
}
