import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
export const prometheusFolder = fileURLToPath(new URL("../../../deploy/prometheus", import.meta.url));
const ruleFiles = ["recording.yaml", "alerts.yaml"].map((name) => join(prometheusFolder, name));

/** Scraped series: `svc_pep_up{instance="a"}` to values in promtool's notation, one a minute. */
export type Series = Readonly<Record<string, string>>;

/** Fails with promtool's report unless exactly these alerts fire after this many minutes of the input. */
export async function expectFiring(series: Series, minutes: number, alerts: readonly string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "svc-alerts-"));
  const file = join(folder, "test.json");
  try {
    await writeFile(file, JSON.stringify(testOf(series, minutes, alerts)));
    await run("promtool", ["test", "rules", file]).catch(({ stdout, stderr }) => {
      throw new Error(`${stdout}${stderr}`);
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

const testOf = (series: Series, minutes: number, alerts: readonly string[]) => ({
  rule_files: ruleFiles,
  evaluation_interval: "1m",
  tests: [
    {
      interval: "1m",
      input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
      promql_expr_test: [
        {
          expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
          eval_time: `${minutes}m`,
          exp_samples: [...alerts].sort().map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
        },
      ],
    },
  ],
});

export const checkRules = () => run("promtool", ["check", "rules", ...ruleFiles]);
export const checkConfig = () => run("promtool", ["check", "config", join(prometheusFolder, "prometheus.yml")]);
