import { readdirSync, readFileSync } from "node:fs";
import { files } from "@svc/dashboards";
import { requires, waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, expect } from "vitest";
import { type Fleet, startFleet } from "./src/fleet.ts";
import { type Prometheus, startPrometheus } from "./src/prometheus.ts";

const { describe, test } = requires("promtool");

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly fieldConfig?: { readonly defaults: { readonly unit: string } };
  readonly targets?: readonly { readonly expr: string }[];
}

const folder = new URL("../../deploy/grafana/", import.meta.url);
const shipped = readdirSync(folder).filter((name) => name.endsWith(".json") && name.startsWith("svc-"));
const dashboards = shipped.map((name) => ({
  name,
  dashboard: JSON.parse(readFileSync(new URL(name, folder), "utf8")) as {
    readonly uid: string;
    readonly links: readonly object[];
    readonly panels: readonly Panel[];
  },
}));
const queries = dashboards.flatMap(({ dashboard: { uid, panels } }) =>
  panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ uid, title, expr }))),
);

/** One of every scraped process, so that none was scraped only once. */
const knownRates = [
  "svc:pep_would_block:ratio_rate1d > 0",
  "svc:pep_overhead_slow:ratio_rate6h",
  "svc:decisions:rate5m > 0",
  'rate(svc_admissions_total{result="admitted"}[5m]) > 0',
  'rate(svc_admissions_total{result="refused"}[5m]) > 0',
];

let fleet: Fleet;
let prometheus: Prometheus;

beforeAll(async () => {
  fleet = await startFleet();
  prometheus = await startPrometheus(fleet.scraped);
  // Two scrapes of moving counters make a rate, and the rules read rates.
  const hasRates = async () => {
    await fleet.call();
    const rates = await Promise.all(knownRates.map((expr) => prometheus.query(expr)));
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

describe.each(dashboards)("$name", ({ dashboard: { panels, links } }) => {
  const drawn = panels.filter(({ type }) => type !== "row");

  test("describes every panel, with its unit", () => {
    for (const { title, description, fieldConfig } of drawn) {
      expect(description, title).toMatch(/.{20,}\.$/);
      expect(fieldConfig?.defaults.unit, title).toMatch(/./);
    }
  });

  test("links to every other dashboard", () => expect(links).toHaveLength(dashboards.length - 1));

  test("has no overlapping panels, and a unique id for each", () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) => {
      expect(x + w).toBeLessThanOrEqual(24);
      return Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`);
    });
    expect(new Set(cells).size).toBe(cells.length);
  });
});

test.each(queries)("$uid: $title: $expr", async ({ expr }) => {
  const samples = await prometheus.query(expr);
  expect(samples.length).toBeGreaterThan(0);
  for (const { value } of samples) expect(value).not.toBeNaN();
});

test("of two observing scopes, the one without observed denies is ready to enforce", async () => {
  const of = (title: string) => queries.find((query) => query.title === title)?.expr ?? "";
  const [eager, ready] = fleet.scraped.slice(1, 3).map(({ target }) => target);
  const instances = async (title: string) => (await prometheus.query(of(title))).map(({ labels }) => labels.instance);
  expect(await instances("Ready to enforce")).toEqual([ready]);
  expect(await instances("Not ready")).toEqual([eager]);
});
