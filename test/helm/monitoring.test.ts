import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { requires } from "@svc/test-support";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { sidecarOf } from "../../apps/injector/src/sidecar.ts";
import { injectionOf } from "../../apps/injector/test/pods.ts";
import { chartFolder } from "./src/helm.ts";
import { type KubernetesObject, objectOf, render } from "./src/render.ts";
import { variants } from "./src/variants.ts";

const run = promisify(execFile);
const shipped = (path: string) => readFile(join(chartFolder, "../../deploy", path), "utf8");
const monitoringKinds = ["PodMonitor", "PrometheusRule", "ServiceMonitor"];
const monitorsOf = (objects: readonly KubernetesObject[]) => [
  ...new Set(objects.map(({ kind }) => kind).filter((kind) => monitoringKinds.includes(kind))),
];

test.each([
  ["defaults", []],
  ["production", monitoringKinds],
  ["monitors on a cluster without their kinds", monitoringKinds],
  ["no monitors on a cluster with their kinds", []],
])("%s: monitors are created where the cluster has their kinds, or the values force them", async (variant, kinds) => {
  expect(monitorsOf(await render(variants[variant])).sort()).toEqual(kinds);
});

requires("promtool").test.each(["recording", "alerts"])(
  "the %s rules are those of deploy/prometheus, and valid for Prometheus",
  async (name) => {
    const objects = await render(variants["monitors on a cluster without their kinds"]);
    const { spec, metadata } = objectOf(objects, "PrometheusRule", name);
    expect(spec).toEqual(parse(await shipped(`prometheus/${name}.yaml`)));
    expect(metadata.labels).toMatchObject({ release: "prometheus" });
    const folder = await mkdtemp(join(tmpdir(), "svc-rules-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, "rules.json");
    await writeFile(file, JSON.stringify(spec));
    expect((await run("promtool", ["check", "rules", file])).stdout).toMatch(/SUCCESS: \d+ rules found/);
  },
);

test("the dashboards are those of deploy/grafana, with the label that Grafana's sidecar selects, and the console's address", async () => {
  const objects = await render(variants["monitors on a cluster without their kinds"]);
  const dashboards = objects.filter(({ kind }) => kind === "ConfigMap");
  const files = ["svc-control-plane.json", "svc-drift.json", "svc-fleet.json", "svc-rollout.json", "svc-spans.json"];
  expect(dashboards.flatMap(({ data }) => Object.keys(data)).sort()).toEqual(files);
  for (const { metadata, data } of dashboards) {
    expect(metadata.labels).toMatchObject({ grafana_dashboard: "1" });
    expect(metadata.annotations).toEqual({ grafana_folder: "authorization" });
    for (const [name, text] of Object.entries(data as Record<string, string>)) {
      const file = (await shipped(`grafana/${name}`)).replaceAll(
        "http://127.0.0.1:8080/console",
        "https://svc.example/console",
      );
      expect(JSON.parse(text)).toEqual(JSON.parse(file));
    }
  }
});

test("the enforcement points are scraped in every namespace, at the injected port", async () => {
  const { spec } = objectOf(await render(variants.production), "PodMonitor");
  expect(spec.namespaceSelector).toEqual({ any: true });
  expect(spec.podMetricsEndpoints).toEqual([{ port: "svc-pep-admin", path: "/__svc/metrics", interval: "15s" }]);
  const injection = injectionOf();
  const { ports } = sidecarOf(injection, injection.defaults);
  expect(ports).toContainEqual({ name: "svc-pep-admin", containerPort: 16_020, protocol: "TCP" });
});
