import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type DevStack,
  type EchoUpstream,
  type OwnRedis,
  requires,
  spawnDev,
  startEchoUpstream,
  startOwnRedis,
  waitUntil,
} from "@svc/test-support";
import { afterAll, beforeAll, expect } from "vitest";

const { test } = requires("redis-server");

let stack: DevStack;
let redis: OwnRedis;
let upstream: EchoUpstream;
let folder: string;
let headers: Record<string, string>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "svc-outage-"));
  redis = await startOwnRedis();
  upstream = await startEchoUpstream();
  const config = join(folder, "pep.json");
  writeFileSync(config, JSON.stringify(upstreams(upstream.url)));
  stack = await spawnDev(
    ["--with-example", "--port", "0", "--data-dir", join(folder, "data")].concat(
      ["--redis-url", redis.url],
      ["--pep-config", config],
    ),
  );
  const response = await fetch(`${stack.control_plane}/v1/consent`, {
    method: "POST",
    headers: { authorization: `Bearer ${stack.admin_token}`, "content-type": "application/json" },
    body: JSON.stringify({ scope: "expenses", user_sub: "alice" }),
  });
  const consent = (await response.json()) as { root_grant: string; session_id: string };
  headers = { authorization: `Bearer ${consent.root_grant}`, "x-svc-session": consent.session_id };
});
afterAll(async () => {
  await stack?.stop();
  await Promise.all([redis.stop(), upstream.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

const upstreams = (url: string) => ({
  upstreams: [
    {
      name: "ledger",
      url,
      routes: [
        { methods: ["GET"], path: "/entries/:id", target: "http:ledger/read_entry", data_class: "finance.entries" },
      ],
    },
  ],
});

const call = async () => {
  const response = await fetch(`${stack.pep}/ledger/entries/7`, { headers });
  await response.arrayBuffer();
  return { status: response.status, blocked: response.headers.get("x-svc-blocked") };
};
const passes = () => waitUntil("a call to pass again", async () => (await call()).status === 200);

test("while the cache store is down no call passes or reaches the tool, and calls pass after recovery", async () => {
  await passes();
  await redis.kill();
  const before = upstream.requests.length;
  for (let n = 0; n < 5; n++) {
    const { status, blocked } = await call();
    expect([status, ["exchange_unreachable", "pdp_unreachable"].includes(blocked ?? "")]).toEqual([503, true]);
  }
  expect(upstream.requests).toHaveLength(before);
  await redis.restart();
  await passes();
});

test("a killed database blocks every call until it recovers, and every call is recorded", async () => {
  await passes();
  const pid = Number.parseInt(readFileSync(join(folder, "data/postgres/cluster/postmaster.pid"), "utf8"), 10);
  process.kill(pid, "SIGKILL");
  const seen = new Set<string | null>();
  await waitUntil("a call to be blocked", async () => {
    const { status, blocked } = await call();
    seen.add(blocked);
    return status === 503;
  });
  await passes();
  seen.delete(null);
  for (const cause of seen) expect(["audit_unavailable", "pdp_unreachable", "exchange_unreachable"]).toContain(cause);
  const recorded = await allowsOf(headers["x-svc-session"] ?? "");
  expect(recorded.filter(({ spent_at }) => spent_at !== null).length).toBeGreaterThanOrEqual(upstream.requests.length);
});

async function allowsOf(session: string): Promise<{ spent_at: string | null }[]> {
  const url = `${stack.control_plane}/v1/audit/decisions?session_id=${session}&outcome=allow&limit=200`;
  const response = await fetch(url, { headers: { authorization: `Bearer ${stack.audit_token}` } });
  return ((await response.json()) as { data: { spent_at: string | null }[] }).data;
}
