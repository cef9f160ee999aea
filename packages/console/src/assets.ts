import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { getMimeType } from "hono/utils/mime";

const own = new URL("../assets/", import.meta.url);
const uplot = new URL("dist/", `file://${createRequire(import.meta.url).resolve("uplot/package.json")}`);

const files: readonly (readonly [name: string, url: URL])[] = [
  ...[
    ...["base.css", "parts.css", "charts.css", "people.css", "acts.css", "print.css"],
    ...["times.js", "follow.js", "plots.js", "icon.svg"],
  ].map((name) => [name, new URL(name, own)] as const),
  ["uplot.js", new URL("uPlot.iife.min.js", uplot)],
  ["uplot.css", new URL("uPlot.min.css", uplot)],
];

/** Every file that a page loads, by name; read once. */
export const readAssets = () =>
  new Map(
    files.map(
      ([name, url]) => [name, { contentType: getMimeType(name) ?? "", text: readFileSync(url, "utf8") }] as const,
    ),
  );
