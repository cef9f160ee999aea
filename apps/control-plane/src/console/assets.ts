import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const own = new URL("../../src/console/assets/", import.meta.url);
const uplot = new URL("dist/", `file://${createRequire(import.meta.url).resolve("uplot/package.json")}`);

interface Asset {
  readonly contentType: string;
  readonly text: string;
}

const css = "text/css; charset=utf-8";
const script = "text/javascript; charset=utf-8";
const read = (file: URL, contentType: string): Asset => ({ contentType, text: readFileSync(file, "utf8") });

/** All that a page loads, by name, read once: nothing comes from another origin. */
export const readAssets = (): ReadonlyMap<string, Asset> =>
  new Map([
    ["base.css", read(new URL("base.css", own), css)],
    ["parts.css", read(new URL("parts.css", own), css)],
    ["follow.js", read(new URL("follow.js", own), script)],
    ["plots.js", read(new URL("plots.js", own), script)],
    ["icon.svg", read(new URL("icon.svg", own), "image/svg+xml")],
    ["uplot.js", read(new URL("uPlot.iife.min.js", uplot), script)],
    ["uplot.css", read(new URL("uPlot.min.css", uplot), css)],
  ]);
