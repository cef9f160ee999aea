import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type EdgeOutcome, traceRecorder } from "@svc/drift/recorder";
import { spawnApp } from "@svc/test-support";

/** The file of a real run of the gate, served as a node exporter's textfile collector serves it. */
export interface Textfile {
  readonly host: string;
  stop(): Promise<void>;
}

/** One declared edge, one undeclared, and one declared without a call. */
export async function runDriftGate(folder: string): Promise<Textfile> {
  const [traces, manifests, file] = ["traces", "manifests", "svc_drift.prom"].map((name) => join(folder, name));
  if (traces === undefined || manifests === undefined || file === undefined)
    throw new Error("split returned fewer than three names");
  await Promise.all([mkdir(traces), mkdir(manifests)]);
  const tool = (ref: string) => ({ ref, data_classes: ["shop.orders"] });
  const scopes = { shop: { hop_budget: 3, tools: [tool("http:shop/orders"), tool("http:shop/stock")] } };
  await writeFile(join(manifests, "seller.json"), JSON.stringify({ agent: "seller", manifest: { scopes } }));
  await record(traces, ["http:shop/orders", "allow"], ["http:shop/refunds", "deny"]);
  const args = ["drift", "check", "--trace", traces, "--manifests", manifests, "--metrics-file", file];
  const gate = spawnApp({ main: "@svc/cli/main", args, env: {} });
  if ((await gate.exited) !== 1) throw new Error(`the gate did not find the drift:\n${gate.output()}`);
  return serve(file);
}

async function record(folder: string, ...edges: readonly (readonly [target: string, outcome: EdgeOutcome])[]) {
  const recorder = traceRecorder(`${folder}/`);
  for (const [target, outcome] of edges) {
    recorder.record({
      ...{ scope: "shop", chain: ["seller"], caller: "seller", target, targetKind: "tool", dataClass: "shop.orders" },
      ...{ hop: 2, taint: "trusted_internal", outcome },
    });
  }
  await recorder.close();
}

async function serve(file: string): Promise<Textfile> {
  const server = createServer(async (_request, response) => response.end(await readFile(file)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
