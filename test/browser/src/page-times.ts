import { testBearers, waitUntil } from "@svc/test-support";
import { cpuOfProcess, databaseOf } from "./cost.ts";
import { writeHistory } from "./history.ts";
import { startStand } from "./stand.ts";

/**
 * The time of each page of the console over a log of a given length, from the request to the last byte: median and
 * maximum of several sequential loads; and the processor time of one load, which a busy machine hardly changes.
 */

const [decisions = 100_000, loads = 21] = process.argv.slice(2).map(Number);
const spanMs = 86_400_000;

const stand = await startStand();
try {
  await writeHistory(stand.database, stand.story, { decisions, spanMs });
  const database = databaseOf(stand.database);
  // The service would otherwise seal and count the whole history at once while its pages are timed.
  await waitUntil("the history to be sealed", async () => (await database.sealedRows()) > 0.99 * decisions, 300_000);
  await waitUntil("observed denies to be counted", database.isCounted, 300_000);
  await database.analyze();
  const { url } = stand.plane;
  const entered = await fetch(`${url}/console/sign-in`, {
    method: "POST",
    redirect: "manual",
    headers: { "sec-fetch-site": "same-origin" },
    body: new URLSearchParams({ token: testBearers.audit, next: "/console" }),
  });
  const cookie = entered.headers.get("set-cookie")?.split(";")[0] ?? "";
  const { sessionId, tainted } = stand.story;
  const paths = [
    "/console",
    "/console?span=30d",
    "/console/decisions",
    "/console/decisions?outcome=deny&taint=untrusted_external",
    "/console/decisions?deny_reason=SCOPE_NOT_CONSENTED&agent=planner",
    "/console/decisions?user_sub=ada%40example.com",
    "/console/decisions?scope=travel&order=oldest",
    "/console/decisions?target=http%3Acrm%2Fread_contact",
    "/console/decisions?target=no%3Asuch%2Ftool&last=7d",
    "/console/decisions?protocol=true",
    "/console/search?q=ledger",
    "/console/search?q=00000000",
    `/console/actions/${tainted}`,
    "/console/would-block",
    "/console/would-block?scope=expenses",
    "/console/scopes",
    "/console/scope?name=expenses",
    "/console/agents",
    "/console/agents/planner",
    "/console/sessions",
    `/console/sessions/${sessionId}`,
    "/console/denials",
    "/console/events",
    "/console/map",
    "/console/map?span=24h",
    "/console/person?sub=ada%40example.com",
    "/console/tool?name=http:ledger/read_entry",
    "/console/tool?name=http:ledger/post_entry",
    "/console/events?actor=ada@example.com",
  ];
  const readCpu = async () => [cpuOfProcess(stand.plane.pid), await database.cpuMs()];
  console.log(`${decisions} decisions, ${loads} loads a page

| page | median ms | slowest ms | service CPU ms | database CPU ms |
|---|---|---|---|---|`);
  for (const path of paths) {
    const times: number[] = [];
    const before = await readCpu();
    for (let load = 0; load < loads; load += 1) {
      const started = performance.now();
      const response = await fetch(`${url}${path}`, { headers: { cookie }, redirect: "error" });
      await response.text();
      if (response.status !== 200) throw new Error(`${path} returned ${response.status}`);
      times.push(performance.now() - started);
    }
    const [own = 0, stored = 0] = (await readCpu()).map((ms, at) => (ms - (before[at] ?? 0)) / loads);
    times.sort((a, b) => a - b);
    const shown = path.replace(/[0-9a-f-]{36}/, "…");
    const [median = 0, slowest = 0] = [times[loads >> 1], times.at(-1)];
    const figures = [median.toFixed(0), slowest.toFixed(0), own.toFixed(1), stored.toFixed(1)];
    console.log(`| \`${shown}\` | ${figures.join(" | ")} |`);
  }
  await database.end();
} finally {
  await stand.stop();
}
// The database server of this process ends with it.
process.exit();
