import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { launchBrowser, signIn, visit } from "./src/chromium.ts";
import { writeHistory } from "./src/history.ts";
import { type Stand, startStand } from "./src/stand.ts";

// A browser on a busy machine takes its time.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });

let stand: Stand;
let browser: Browser;
beforeAll(async () => {
  [stand, browser] = await Promise.all([startStand(), launchBrowser()]);
  await writeHistory(stand.database, stand.told, { decisions: 12, spanMs: 3_000_000 });
});
afterAll(async () => {
  await browser?.close();
  await stand?.stop();
});

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe calls serious or critical, one line each. Run past the page's policy, which admits no foreign script. */
async function faults(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const { violations } = (await page.evaluate("axe.run({ resultTypes: ['violations'] })")) as AxeResults;
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`));
}

/** What is folded away counts too. */
const openAll = (page: Page): Promise<void> =>
  page.locator("details").evaluateAll((all) => {
    for (const details of all) details.setAttribute("open", "");
  });

const schemes = ["light", "dark"] as const;
const widths = [375, 1440] as const;

describe.each(schemes.flatMap((colorScheme) => widths.map((width) => ({ colorScheme, width }))))(
  "in $colorScheme at $width px",
  ({ colorScheme, width }) => {
    let page: Page;
    beforeAll(async () => {
      page = await visit(browser, stand.plane.url, { colorScheme, viewport: { width, height: 900 } });
    });
    afterAll(() => page.context().close());

    test("the sign-in, refused too, can be read by everybody", async () => {
      await page.goto("/console");
      expect(await faults(page)).toEqual([]);
      await signIn(page, "/console", "not-the-token");
      expect(await faults(page)).toEqual([]);
      await signIn(page);
      await page.waitForURL("**/console");
    });

    test.each<[string, (stand: Stand) => string]>([
      ["the overview", () => "/console"],
      ["the decisions", () => "/console/decisions?limit=8"],
      ["a denied action", ({ told }) => `/console/actions/${told.tainted}`],
      ["an allowed action", ({ told }) => `/console/actions/${told.allowed}`],
      ["the would-block review", () => "/console/would-block?scope=expenses"],
      ["the scopes", () => "/console/scopes"],
      ["a scope", () => "/console/scope?name=expenses"],
      ["the agents", () => "/console/agents"],
      ["an agent", () => "/console/agents/planner"],
      ["the sessions", () => "/console/sessions"],
      ["a session", ({ told }) => `/console/sessions/${told.sessionId}`],
      ["the denials", () => "/console/denials"],
      ["a page that is not there", () => "/console/nowhere"],
      ["a refused address", () => "/console/decisions?outcome=perhaps"],
    ])(
      "%s can be read by everybody, and fits",
      async (_name, pathOf) => {
        await page.goto(pathOf(stand));
        await openAll(page);
        expect(await faults(page)).toEqual([]);
        const overflow = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        expect(overflow).toBe(0);
      },
      30_000,
    );
  },
);
