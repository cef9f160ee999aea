import { requires } from "@svc/test-support";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { launchBrowser, signIn, visit } from "./src/chromium.ts";
import { createLongNames, type LongNames, longNames } from "./src/long-names.ts";
import { type Stand, startStand } from "./src/stand.ts";

const { describe, test } = requires("chromium");

let stand: Stand;
let browser: Browser;
let created: LongNames;
let pages: readonly { readonly scheme: string; readonly page: Page }[];

/** The narrow one first, since a window can grow at any time. */
const widths = [390, 1280] as const;
const height = 900;

beforeAll(async () => {
  [stand, browser] = await Promise.all([startStand(), launchBrowser()]);
  created = await createLongNames(stand.api);
  const open = async (scheme: "light" | "dark") => {
    const viewport = { width: widths[0], height };
    const page = await visit(browser, stand.plane.url, { colorScheme: scheme, viewport });
    await signIn(page);
    await page.waitForURL("**/console");
    return { scheme, page };
  };
  pages = await Promise.all([open("light"), open("dark")]);
});
afterAll(async () => {
  await browser?.close();
  await stand?.stop();
});

/** What is wider than its place, one line each: the page, which would scroll, or a table, which would be cut. */
const tooWide = (page: Page): Promise<string[]> =>
  page.evaluate(async () => {
    for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
    const past = (document.scrollingElement?.scrollWidth ?? 0) - window.innerWidth;
    const cut = [...document.querySelectorAll(".table")].map((table) => table.scrollWidth - table.clientWidth);
    return [
      ...(past > 0 ? [`the page by ${past} px`] : []),
      ...cut.flatMap((pixels, at) => (pixels > 0 ? [`table ${at} by ${pixels} px`] : [])),
    ];
  });

async function examine(page: Page, path: string, status: number): Promise<string[]> {
  expect((await page.goto(path))?.status()).toBe(status);
  await page.locator("details").evaluateAll((all) => {
    for (const details of all) details.setAttribute("open", "");
  });
  const found: string[] = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height });
    found.push(...(await tooWide(page)).map((fault) => `at ${width} px: ${fault}`));
  }
  await page.setViewportSize({ width: widths[0], height });
  return found;
}

const { agent, delegate, scope, userSub } = longNames;
const query = (parameters: Readonly<Record<string, string>>) => `?${new URLSearchParams(parameters)}`;

describe("the longest names, also with a direction mark, fit the window in light and dark mode", () => {
  test.each<[string, () => string, status?: number]>([
    ["the overview", () => "/console"],
    ["the decisions", () => "/console/decisions"],
    ["the decisions of an agent", () => `/console/decisions${query({ agent })}`],
    ["an allowed action", () => `/console/actions/${created.allowed}`],
    ["a denied action", () => `/console/actions/${created.denied}`],
    [
      "the decisions of a person and a tool",
      () => `/console/decisions${query({ user_sub: userSub, target: longNames.web })}`,
    ],
    ["the search for a part of their names", () => `/console/search${query({ q: "http:" })}`],
    ["the would-block review", () => "/console/would-block"],
    ["the would-block review of a scope", () => `/console/would-block${query({ scope })}`],
    ["the scopes", () => "/console/scopes"],
    ["a scope", () => `/console/scope${query({ name: scope })}`],
    ["the agents", () => "/console/agents"],
    ["an agent", () => `/console/agents/${agent}`],
    ["an agent with two manifests", () => `/console/agents/${delegate}`],
    ["the sessions", () => "/console/sessions"],
    ["the sessions of a person", () => `/console/sessions${query({ user_sub: userSub, scope })}`],
    ["a session", () => `/console/sessions/${created.sessionId}`],
    ["the denials", () => "/console/denials"],
    ["the events", () => "/console/events"],
    ["the map", () => "/console/map"],
    ["a person", () => `/console/person${query({ sub: userSub })}`],
    ["a tool", () => `/console/tool${query({ name: longNames.tool })}`],
    ["an agent that is not there", () => `/console/agents/${"z".repeat(128)}`, 404],
    ["a scope that is not there", () => `/console/scope${query({ name: "Z".repeat(255) })}`, 404],
    ["a refused address", () => `/console/decisions${query({ ["Q".repeat(255)]: "1" })}`, 400],
  ])("on the page of %s", async (_page, pathOf, status = 200) => {
    const path = pathOf();
    const found = await Promise.all(
      pages.map(async ({ scheme, page }) =>
        (await examine(page, path, status)).map((fault) => `in ${scheme} ${fault}`),
      ),
    );
    expect(found.flat()).toEqual([]);
  });
});
