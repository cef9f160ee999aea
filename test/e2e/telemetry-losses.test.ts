import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, programOf, waitUntil } from "@svc/test-support";
import { afterEach, expect, test } from "vitest";
import { ask } from "./src/telemetry/ask.ts";
import { readScrape, total } from "./src/telemetry/exposition.ts";
import { type App, apps, type OneHop, openHop } from "./src/telemetry/one-hop.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const calls = 12;

async function callThrough({ ways }: OneHop): Promise<void> {
  for (let call = 0; call < calls; call++) expect((await ways["enforcement point"].ask([])).status).toBe(200);
}

const lost = async ({ ways }: OneHop, app: App) =>
  total(await ways[app].scrape(), "svc_telemetry_dropped_total", { signal: "span" });

/** A call through the enforcement point is one span there, and a decision and an exchange at the control plane. */
const spansOf = { "control plane": 2 * calls, "enforcement point": calls } as const;

async function endpointOf(kind: "down" | "silent" | "refusing"): Promise<string> {
  if (kind === "down") return `http://127.0.0.1:${await freePort()}`;
  const server = createServer((_request, response) => void (kind === "refusing" && response.writeHead(400).end()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test.each(["down", "silent", "refusing"] as const)(
  "while the collector is %s every call passes, and each app counts every lost span once",
  async (kind) => {
    const hop = await openHop({
      OTEL_EXPORTER_OTLP_ENDPOINT: await endpointOf(kind),
      OTEL_EXPORTER_OTLP_TIMEOUT: "300",
    });
    cleanups.push(() => hop.stop());
    await callThrough(hop);
    for (const app of apps)
      await waitUntil(`${spansOf[app]} lost spans`, async () => (await lost(hop, app)) >= spansOf[app]);
    for (const app of apps) expect([app, await lost(hop, app)]).toEqual([app, spansOf[app]]);
  },
);

test("spans beyond a full queue are counted at once, also while an export is pending", async () => {
  const hop = await openHop({
    OTEL_EXPORTER_OTLP_ENDPOINT: await endpointOf("silent"),
    OTEL_EXPORTER_OTLP_TIMEOUT: "60000",
    OTEL_BSP_MAX_QUEUE_SIZE: "2",
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "2",
  });
  cleanups.push(() => hop.stop());
  await callThrough(hop);
  for (const app of apps) expect([app, (await lost(hop, app)) >= spansOf[app] - 4]).toEqual([app, true]);
});

const route = { methods: ["GET"], path: "/read", target: "http:app/read", data_class: "docs" };

test("log lines to a closed pipe are counted as lost, and the enforcement point continues to serve", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-log-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  const configFile = join(folder, "pep.json");
  writeFileSync(
    configFile,
    JSON.stringify({ upstreams: [{ name: "app", url: "http://127.0.0.1:1", routes: [route] }] }),
  );
  const [listen, adminListen] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  const child = spawn(process.execPath, [programOf("@svc/pep/main")], {
    stdio: ["ignore", "pipe", "ignore"],
    env: {
      PATH: process.env.PATH,
      SVC_CONTROL_PLANE_URL: "http://127.0.0.1:1",
      SVC_PEP_CONFIG: configFile,
      SVC_PEP_LISTEN: listen,
      SVC_PEP_ADMIN_LISTEN: adminListen,
      SVC_TELEMETRY_KEY: "telemetry-key-of-the-tests",
    },
  });
  cleanups.push(() => child.kill("SIGKILL"));
  const isUp = async () => (await ask(`http://${adminListen}`, "/__svc/livez")).status === 200;
  await waitUntil("it to be up", isUp);
  child.stdout.destroy();
  const lostLines = async () =>
    total(readScrape((await ask(`http://${adminListen}`, "/__svc/metrics")).text), "svc_telemetry_dropped_total", {
      signal: "log",
    });
  const blocked = async () => expect((await ask(`http://${listen}`, "/app/read")).status).toBe(401);
  // Some lines are in transit when the closed pipe is noticed.
  await waitUntil("lines to be lost", async () => {
    await blocked();
    return (await lostLines()) > 0;
  });
  const before = await lostLines();
  for (let call = 0; call < calls; call++) await blocked();
  expect(await lostLines()).toBe(before + calls);
});
