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

export interface Prometheus {
  query(expr: string): Promise<readonly Sample[]>;
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
  return {
    async query(expr) {
      const { body } = await request(`http://${address}/api/v1/query?${new URLSearchParams({ query: expr })}`);
      const answer = (await body.json()) as Answer;
      if (answer.status !== "success") throw new Error(`${expr}: ${answer.error}`);
      return answer.data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
    },
    async stop() {
      await child.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

type Answer =
  | {
      readonly status: "success";
      readonly data: { readonly result: readonly { metric: Record<string, string>; value: [number, string] }[] };
    }
  | { readonly status: "error"; readonly error: string };

const configOf = (scraped: readonly Scraped[]) => ({
  global: { scrape_interval: "1s", evaluation_interval: "1s" },
  rule_files: ["recording.yaml", "alerts.yaml"],
  scrape_configs: scraped.map(({ job, target, path }, index) => ({
    job_name: `${job}-${index}`,
    metrics_path: path,
    static_configs: [{ targets: [target] }],
  })),
});
