import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const schemes = ["light", "dark"] as const;
export type Scheme = (typeof schemes)[number];
/** The narrow one first: a page has just loaded then, and a window can grow at any time. */
export const widths = [375, 1440] as const;
export const height = 900;

/** Violations that axe rates serious or critical, one line each. */
async function faults(page: Page): Promise<string[]> {
  const { violations } = (await page.evaluate("axe.run({ resultTypes: ['violations'] })")) as AxeResults;
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`));
}

/** By how many pixels the page is wider than the window. */
const overflow = (page: Page): Promise<number> =>
  page.evaluate(async () => {
    for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
    return document.documentElement.scrollWidth - document.documentElement.clientWidth;
  });

/** All faults of the open page, at each width, including folded content. */
export async function examine(page: Page): Promise<string[]> {
  // The page after a sign-in reloads itself.
  await page.waitForFunction(() => document.querySelector("meta[http-equiv=refresh]") === null);
  // Bypasses the page's policy, which allows no foreign script.
  await page.evaluate(axe);
  await page.locator("details").evaluateAll((all) => {
    for (const details of all) details.setAttribute("open", "");
  });
  const found: string[] = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height });
    const past = await overflow(page);
    const all = [...(past === 0 ? [] : [`${past} px too wide`]), ...(await faults(page))];
    found.push(...all.map((fault) => `at ${width} px: ${fault}`));
  }
  await page.setViewportSize({ width: widths[0], height });
  return found;
}
