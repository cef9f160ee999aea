import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { files } from "@svc/dashboards";
import { locate, requires, waitUntil } from "@svc/test-support";
import { chromium } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { type DrawnLine, drawDashboard } from "./src/draw.ts";
import { type Fleet, startFleet } from "./src/fleet.ts";
import { type GrafanaDashboard, type GrafanaPanel, withVariables } from "./src/grafana-model.ts";
import { type Prometheus, startPrometheus } from "./src/prometheus.ts";

const { describe, test } = requires("promtool");

const folder = new URL("../../deploy/grafana/", import.meta.url);
const shipped = readdirSync(folder).filter((name) => name.endsWith(".json") && name.startsWith("svc-"));
const dashboards = shipped.map((name) => ({
  name,
  dashboard: JSON.parse(readFileSync(new URL(name, folder), "utf8")) as GrafanaDashboard,
}));
const queries = dashboards.flatMap(({ dashboard: { uid, panels } }) =>
  panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ uid, title, expr }))),
);
const queryOf = (title: string): string => queries.find((query) => query.title === title)?.expr ?? "";

/** Of every scraped process, so that none was scraped only once. */
const ratesOf = (scraped: Fleet["scraped"]): string[] => [
  ...scraped
    .filter(({ job }) => job === "svc-pep")
    .map(({ target }) => `svc:pep_calls:rate1d{instance="${target}"} > 0`),
  'svc:pep_calls:rate1d{outcome="observed_would_block"} > 0',
  "svc:pep_overhead_slow:ratio_rate6h",
  "sum by (outcome) (svc:decisions:rate5m) > 0",
  'rate(svc_admissions_total{result="admitted"}[5m]) > 0',
  'rate(svc_admissions_total{result="refused"}[5m]) > 0',
  'rate(traces_span_metrics_calls_total{span_name="authz.exchange"}[5m]) > 0',
  'rate(traces_span_metrics_calls_total{span_name="pep.forward"}[5m]) > 0',
];

let fleet: Fleet;
let prometheus: Prometheus;

beforeAll(async () => {
  fleet = await startFleet();
  prometheus = await startPrometheus(fleet.scraped);
  // Two scrapes of moving counters make a rate, and the rules read rates.
  const hasRates = async () => {
    await fleet.call();
    const rates = await Promise.all(ratesOf(fleet.scraped).map((expr) => prometheus.query(expr)));
    return rates.every((samples) => samples.length > 0);
  };
  await waitUntil("Prometheus to know rates", hasRates);
});
afterAll(async () => {
  await prometheus?.stop();
  await fleet?.stop();
});

test("the shipped dashboards match the code (else run: pnpm dashboards)", () => {
  const written = new Map(shipped.map((name) => [name, readFileSync(new URL(name, folder), "utf8")]));
  expect(written).toEqual(new Map([...files()].sort()));
});

describe.each(dashboards)("$name", ({ dashboard: { uid, panels, links, templating } }) => {
  const drawn = panels.filter(({ type }) => type !== "row" && type !== "text");

  test("describes every panel, with its unit, and shows 0 where there is nothing", () => {
    for (const { title, description, fieldConfig, options, type } of drawn) {
      expect(description, title).toMatch(/.{20,}\.$/);
      expect(fieldConfig?.defaults, title).toMatchObject({ unit: expect.stringMatching(/./), noValue: "0" });
      if (type === "timeseries") expect(options?.legend?.calcs, title).toEqual(["lastNotNull", "max"]);
    }
  });

  test("names the recording rules that a panel reads", () => {
    for (const { title, description, targets = [] } of drawn) {
      for (const [rule] of targets.flatMap(({ expr }) => [...expr.matchAll(/svc:\w+:\w+/g)]))
        expect(description, title).toContain(rule);
    }
  });

  test("links to the console, to its notes and to every other dashboard", () => {
    const notes = panels.find(({ type }) => type === "text");
    const others = dashboards.filter(({ dashboard }) => dashboard.uid !== uid);
    expect(links.map(({ url }) => url).sort()).toEqual(
      [
        `\${console:raw}`,
        `/d/${uid}?viewPanel=${notes?.id}`,
        ...others.map(({ dashboard }) => `/d/${dashboard.uid}`),
      ].sort(),
    );
  });

  test("every query can be narrowed by every place that the dashboard offers", () => {
    const places = templating.list.filter(({ type }) => type === "query").map(({ name }) => name);
    expect(places).toEqual(expect.arrayContaining(["cluster", "namespace"]));
    for (const { title, targets = [], description = "" } of drawn) {
      if (description.includes("The variables do not narrow it.")) continue;
      for (const { expr } of targets) for (const place of places) expect(expr, title).toContain(`$${place}`);
    }
  });

  test("has no overlapping panels, and a unique id for each", () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) => {
      // Grafana's grid has 24 whole columns.
      expect([x, w].every(Number.isInteger) && x + w <= 24).toBe(true);
      return Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`);
    });
    expect(new Set(cells).size).toBe(cells.length);
  });
});

test.each(queries)("$uid: $title: $expr", async ({ expr }) => {
  const samples = await prometheus.query(withVariables(expr));
  expect(samples.length).toBeGreaterThan(0);
  for (const { value } of samples) expect(value).not.toBeNaN();
});

test("of two observing scopes, the one without observed denies is ready to enforce", async () => {
  const [eager, ready] = fleet.scraped.slice(1, 3).map(({ target }) => target);
  const instances = async (title: string) =>
    (await prometheus.query(withVariables(queryOf(title)))).map(({ labels }) => labels.instance);
  expect(await instances("Ready to enforce")).toEqual([ready]);
  expect(await instances("Not ready")).toEqual([eager]);
});

test.each([
  [{}, 3],
  [{ cluster: "blue" }, 3],
  [{ cluster: "green" }, 0],
  [{ namespace: "svc-pep" }, 3],
  [{ namespace: "other" }, 0],
  [{ mode: "observing" }, 2],
  [{ mode: "enforcing" }, 1],
])("%j selects %i enforcement points", async (chosen, count) => {
  const [sample] = await prometheus.query(withVariables(queryOf("Enforcement points"), chosen));
  expect(sample?.value).toBe(count);
});

requires("promtool", "chromium").test("every panel, drawn from Prometheus, shows its data", async () => {
  const pictures = fileURLToPath(new URL(".cache/dashboards/", import.meta.url));
  mkdirSync(pictures, { recursive: true });
  const browser = await chromium.launch({ executablePath: locate("chromium"), args: ["--no-sandbox"] });
  try {
    for (const { name, dashboard } of dashboards) {
      const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
      const lines = new Map(
        await Promise.all(dashboard.panels.map(async (panel) => [panel, await linesOf(panel)] as const)),
      );
      await page.setContent(String(await drawDashboard(dashboard, (panel) => lines.get(panel) ?? [])));
      await page.screenshot({ path: `${pictures}${name.replace(".json", ".png")}`, fullPage: true });
      expect(await page.locator(".empty").count(), name).toBe(0);
      await page.close();
    }
  } finally {
    await browser.close();
  }
});

async function linesOf({ targets = [] }: GrafanaPanel): Promise<readonly DrawnLine[]> {
  const found = targets.map(async ({ expr, legendFormat }) => {
    const lines = await prometheus.range(withVariables(expr), 60);
    return lines.map(({ labels, points }) => ({ points, legend: legendOf(labels, legendFormat) }));
  });
  return (await Promise.all(found)).flat();
}

const legendOf = (labels: Readonly<Record<string, string>>, format: string | undefined): string =>
  format?.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => labels[name] ?? "") ??
  ["instance", "mode", "version"].flatMap((name) => labels[name] ?? []).join(" ");
