import { testBearers } from "@svc/test-support";
import { writeHistory } from "./history.ts";
import { startStand } from "./stand.ts";

/**
 * How long each page of the console takes over a log of a given length, from the request to the last byte: the median and
 * the slowest of so many loads, one after the other.
 */

const [decisions = 100_000, loads = 21] = process.argv.slice(2).map(Number);
const spanMs = 86_400_000;

const stand = await startStand();
try {
  await writeHistory(stand.database, stand.told, { decisions, spanMs });
  const { url } = stand.plane;
  const entered = await fetch(`${url}/console/sign-in`, {
    method: "POST",
    redirect: "manual",
    headers: { "sec-fetch-site": "same-origin" },
    body: new URLSearchParams({ token: testBearers.audit, next: "/console" }),
  });
  const cookie = entered.headers.get("set-cookie")?.split(";")[0] ?? "";
  const { sessionId, tainted } = stand.told;
  const paths = [
    "/console",
    "/console?span=30d",
    "/console/decisions",
    "/console/decisions?outcome=deny&taint=untrusted_external",
    "/console/decisions?deny_reason=SCOPE_NOT_CONSENTED&agent=planner",
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
  ];
  console.log(`${decisions} decisions, ${loads} loads a page\n\n| page | median ms | slowest ms |\n|---|---|---|`);
  for (const path of paths) {
    const times: number[] = [];
    for (let load = 0; load < loads; load += 1) {
      const started = performance.now();
      const response = await fetch(`${url}${path}`, { headers: { cookie }, redirect: "error" });
      await response.text();
      if (response.status !== 200) throw new Error(`${path} answered ${response.status}`);
      times.push(performance.now() - started);
    }
    times.sort((a, b) => a - b);
    const shown = path.replace(/[0-9a-f-]{36}/, "…");
    console.log(`| \`${shown}\` | ${times[loads >> 1]?.toFixed(0)} | ${times.at(-1)?.toFixed(0)} |`);
  }
} finally {
  await stand.stop();
}
// The database server of this process ends with it.
process.exit();
