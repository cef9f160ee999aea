import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, startChild, waitUntil } from "@svc/test-support";
import { request } from "undici";
import { prometheusFolder } from "./promtool.ts";

export interface Scraped {
  readonly job: string;
  /** `host:port`. */
  readonly target: string;
  readonly path: string;
}

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A series over time. */
export interface Line {
  readonly labels: Readonly<Record<string, string>>;
  readonly points: readonly (readonly [atSeconds: number, value: number])[];
}

export interface Prometheus {
  query(expr: string): Promise<readonly Sample[]>;
  /** The values of the last `seconds`, one each second. */
  range(expr: string, seconds: number): Promise<readonly Line[]>;
  stop(): Promise<void>;
}

/** A real server with the shipped rules that scrapes and evaluates every second, so that tests are short. */
export async function startPrometheus(scraped: readonly Scraped[]): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), "svc-prometheus-"));
  for (const name of ["recording.yaml", "alerts.yaml"]) {
    const rules = await readFile(join(prometheusFolder, name), "utf8");
    await writeFile(join(folder, name), rules.replaceAll("interval: 30s", "interval: 1s"));
  }
  await writeFile(join(folder, "prometheus.yml"), JSON.stringify(configOf(scraped)));
  const address = `127.0.0.1:${await freePort()}`;
  const child = startChild("prometheus", [
    `--config.file=${join(folder, "prometheus.yml")}`,
    `--storage.tsdb.path=${join(folder, "data")}`,
    `--web.listen-address=${address}`,
  ]);
  const ready = async () => {
    if (child.hasExited()) throw new Error(child.output());
    const { statusCode, body } = await request(`http://${address}/-/ready`);
    await body.dump();
    return statusCode === 200;
  };
  await waitUntil("Prometheus to be ready", () => ready().catch(() => child.hasExited()));
  if (child.hasExited()) throw new Error(`Prometheus exited at its start:\n${child.output()}`);
  const ask = async <Row>(path: string, query: Readonly<Record<string, string>>): Promise<readonly Row[]> => {
    const { body } = await request(`http://${address}/api/v1/${path}?${new URLSearchParams(query)}`);
    const answer = (await body.json()) as Answer<Row>;
    if (answer.status !== "success") throw new Error(`${query.query}: ${answer.error}`);
    return answer.data.result;
  };
  return {
    async query(expr) {
      const found = await ask<{ metric: Labels; value: Point }>("query", { query: expr });
      return found.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
    },
    async range(expr, seconds) {
      const end = Date.now() / 1000;
      const span = { start: String(end - seconds), end: String(end), step: "1" };
      const found = await ask<{ metric: Labels; values: readonly Point[] }>("query_range", { query: expr, ...span });
      return found.map(({ metric, values }) => ({
        labels: metric,
        points: values.map(([at, value]) => [at, Number(value)] as const),
      }));
    },
    async stop() {
      await child.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

type Labels = Readonly<Record<string, string>>;
type Point = readonly [atSeconds: number, value: string];

type Answer<Row> =
  | { readonly status: "success"; readonly data: { readonly result: readonly Row[] } }
  | { readonly status: "error"; readonly error: string };

const configOf = (scraped: readonly Scraped[]) => ({
  global: { scrape_interval: "1s", evaluation_interval: "1s" },
  rule_files: ["recording.yaml", "alerts.yaml"],
  scrape_configs: scraped.map(({ job, target, path }, index) => ({
    job_name: `${job}-${index}`,
    metrics_path: path,
    static_configs: [{ targets: [target], labels: { cluster: "blue", namespace: job } }],
  })),
});
