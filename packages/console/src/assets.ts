import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const own = new URL("../assets/", import.meta.url);
const uplot = new URL("dist/", `file://${createRequire(import.meta.url).resolve("uplot/package.json")}`);

interface Asset {
  readonly contentType: string;
  readonly text: string;
}

const css = "text/css; charset=utf-8";
const script = "text/javascript; charset=utf-8";
const read = (folder: URL, file: string, contentType: string): Asset => ({
  contentType,
  text: readFileSync(new URL(file, folder), "utf8"),
});

/** Every file that a page loads, by name; read once. */
export const readAssets = (): ReadonlyMap<string, Asset> =>
  new Map([
    ["base.css", read(own, "base.css", css)],
    ["parts.css", read(own, "parts.css", css)],
    ["follow.js", read(own, "follow.js", script)],
    ["plots.js", read(own, "plots.js", script)],
    ["icon.svg", read(own, "icon.svg", "image/svg+xml")],
    ["uplot.js", read(uplot, "uPlot.iife.min.js", script)],
    ["uplot.css", read(uplot, "uPlot.min.css", css)],
  ]);
