import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { requires } from "@svc/test-support";
import type { AxeResults } from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { launchBrowser, signIn, visit } from "./src/chromium.ts";
import { writeHistory } from "./src/history.ts";
import { type Stand, startStand } from "./src/stand.ts";

const { describe, test } = requires("chromium");

// A browser on a busy machine is slow.
let stand: Stand;
let browser: Browser;
beforeAll(async () => {
  [stand, browser] = await Promise.all([startStand(), launchBrowser()]);
  await writeHistory(stand.database, stand.story, { decisions: 12, spanMs: 3_000_000 });
});
afterAll(async () => {
  await browser?.close();
  await stand?.stop();
});

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const schemes = ["light", "dark"] as const;
type Scheme = (typeof schemes)[number];
/** The narrow one first: a page has just loaded then, and a window can grow at any time. */
const widths = [375, 1440] as const;
const height = 900;

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
async function examine(page: Page): Promise<string[]> {
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

/** One visitor for each scheme, in parallel. */
let pages: readonly { readonly scheme: Scheme; readonly page: Page }[];
beforeAll(async () => {
  const open = async (scheme: Scheme) => {
    const viewport = { width: widths[0], height };
    return { scheme, page: await visit(browser, stand.plane.url, { colorScheme: scheme, viewport }) };
  };
  pages = await Promise.all(schemes.map(open));
});

async function everywhere(reach: (page: Page) => Promise<unknown>): Promise<string[]> {
  const found = pages.map(async ({ scheme, page }) => {
    await reach(page);
    return (await examine(page)).map((fault) => `in ${scheme} ${fault}`);
  });
  return (await Promise.all(found)).flat();
}

describe("in light and dark mode, at 375 and 1440 px", () => {
  test("the sign-in page passes the accessibility rules, also after a refusal", async () => {
    expect(await everywhere((page) => page.goto("/console"))).toEqual([]);
    const refused = async (page: Page) => {
      await signIn(page, "/console", "not-the-token");
      await page.getByRole("alert").waitFor();
    };
    expect(await everywhere(refused)).toEqual([]);
    for (const { page } of pages) {
      await signIn(page);
      await page.waitForURL("**/console");
    }
  });

  test.each<[string, (stand: Stand) => string]>([
    ["the overview", () => "/console"],
    ["the decisions", () => "/console/decisions?limit=8"],
    ["a denied action", ({ story }) => `/console/actions/${story.tainted}`],
    ["an allowed action", ({ story }) => `/console/actions/${story.allowed}`],
    ["the would-block review", () => "/console/would-block?scope=expenses"],
    ["the scopes", () => "/console/scopes"],
    ["a scope", () => "/console/scope?name=expenses"],
    ["the agents", () => "/console/agents"],
    ["an agent", () => "/console/agents/planner"],
    ["the sessions", () => "/console/sessions"],
    ["a session", ({ story }) => `/console/sessions/${story.sessionId}`],
    ["the denials", () => "/console/denials"],
    ["a page that is not there", () => "/console/nowhere"],
    ["a refused address", () => "/console/decisions?outcome=perhaps"],
  ])("%s passes the accessibility rules, and fits the width", async (_name, pathOf) => {
    expect(await everywhere((page) => page.goto(pathOf(stand)))).toEqual([]);
  });
});
