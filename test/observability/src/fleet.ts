import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type One, startOne } from "@svc/test-conformance/stack";
import { startEnforcementPoint, testBearers } from "@svc/test-support";
import { startCollectorStandIn } from "./collector-stand-in.ts";
import { runDriftGate } from "./drift-gate.ts";
import type { Scraped } from "./prometheus.ts";
import { startShop } from "./shop.ts";

/**
 * A control plane and three enforcement points: an observing one with denies, an observing one without, an enforcing
 * one; a resource server that verifies the calls, a stand-in for a collector of spans, and the file of a drift check.
 */
export interface Fleet {
  readonly scraped: readonly Scraped[];
  /** One call of every kind through each of them. */
  call(): Promise<void>;
  stop(): Promise<void>;
}

const declared = { target: "http:shop/orders", data_class: "shop.orders" };
const undeclared = { target: "http:shop/refunds", data_class: "shop.orders" };

export async function startFleet(): Promise<Fleet> {
  const folder = await mkdtemp(join(tmpdir(), "svc-fleet-"));
  const collector = await startCollectorStandIn();
  const spansSent = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.otlpUrl, OTEL_BSP_SCHEDULE_DELAY: "200" };
  const { api, stop } = await startOne(spansSent);
  const shop = await startShop({
    controlPlaneUrl: api.url,
    identityToken: testBearers.identity,
    audience: declared.target,
    dataClass: declared.data_class,
  });
  await api.attest("seller", {
    shop: { hop_budget: 3, tools: [{ ref: declared.target, data_classes: [declared.data_class] }] },
  });
  const start = async (name: string, mode: "observe" | "enforce") => {
    const configFile = join(folder, `${name}.json`);
    await writeFile(configFile, JSON.stringify({ upstreams: [upstreamOf(shop.url, mode)] }));
    return startEnforcementPoint(api.url, configFile, { SVC_PEP_GRACE_SECONDS: "0", ...spansSent });
  };
  const eager = await start("eager", "observe");
  const ready = await start("ready", "observe");
  const strict = await start("strict", "enforce");
  const points = [eager, ready, strict];
  const textfile = await runDriftGate(folder);
  return {
    scraped: [
      { job: "svc-control-plane", target: new URL(api.url).host, path: "/metrics" },
      ...points.map(({ adminUrl }) => ({ job: "svc-pep", target: new URL(adminUrl).host, path: "/__svc/metrics" })),
      { job: "shop", target: new URL(shop.url).host, path: "/metrics" },
      { job: "node", target: textfile.host, path: "/metrics" },
      { job: "svc-spans", target: collector.target, path: "/metrics" },
    ],
    async call() {
      const headers = await agentHeaders(api);
      await Promise.all([
        ...[eager, ready, strict].map(({ url }) => get(`${url}/shop/orders`, headers)),
        ...[eager, strict].map(({ url }) => get(`${url}/shop/refunds`, headers)),
      ]);
      await api.chain((await api.decisions("limit=1")).body.data[0].action_id);
    },
    async stop() {
      await Promise.all(points.map((point) => point.stop()));
      await Promise.all([shop.stop(), textfile.stop(), stop()]);
      await collector.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const upstreamOf = (url: string, mode: "observe" | "enforce") => ({
  name: "shop",
  url,
  mode,
  routes: [
    { methods: ["GET"], path: "/orders", ...declared },
    { methods: ["GET"], path: "/refunds", ...undeclared },
  ],
});

async function agentHeaders(api: One["api"]): Promise<Record<string, string>> {
  const { session, token } = await api.consent("shop");
  const agent = await api.hop(session, token, {
    target: "seller",
    target_kind: "agent",
    data_class: declared.data_class,
  });
  return { authorization: `Bearer ${agent.token}`, "x-svc-session": session };
}

async function get(url: string, headers: Record<string, string>): Promise<void> {
  await (await fetch(url, { headers })).arrayBuffer();
}
