import { requires } from "@svc/test-support";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { launchBrowser, signIn, visit } from "./src/chromium.ts";
import { examine, height, type Scheme, schemes, widths } from "./src/examine.ts";
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
    ["the events", () => "/console/events"],
    ["the map", () => "/console/map"],
    ["a person", () => "/console/person?sub=ada%40example.com"],
    ["a tool", () => "/console/tool?name=http:ledger/read_entry"],
    ["a search with results", () => "/console/search?q=expense"],
    ["a search without results", () => "/console/search?q=nothing"],
    ["a wrong filter", () => "/console/decisions?outcome=perhaps&since=soon&nonsense=1"],
    ["a page that is not there", () => "/console/nowhere"],
    ["a refused address", () => "/console/decisions?outcome=deny&outcome=allow"],
  ])("%s passes the accessibility rules, and fits the width", async (_name, pathOf) => {
    expect(await everywhere((page) => page.goto(pathOf(stand)))).toEqual([]);
  });
});
