import { requires } from "@svc/test-support";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { launchBrowser, visit } from "./src/chromium.ts";
import { type Stand, startStand } from "./src/stand.ts";

const { test } = requires("chromium");

let stand: Stand;
let browser: Browser;
beforeAll(async () => {
  [stand, browser] = await Promise.all([startStand(), launchBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await stand?.stop();
});

test.each([
  { width: 1280, colorScheme: "light" },
  { width: 390, colorScheme: "dark" },
] as const)(
  "the API reference shows its routes with examples, and loads nothing of other hosts: $width $colorScheme",
  async ({ width, colorScheme }) => {
    const page = await visit(browser, stand.plane.url, { viewport: { width, height: 900 }, colorScheme });
    const complaints: string[] = [];
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    const hosts = new Set<string>();
    page.on("request", (request) => void hosts.add(new URL(request.url()).host));
    await page.goto("/docs#tag/audit/GET/v1/audit/verdicts");
    // The renderer colors the parts of an example apart.
    await page.waitForFunction('document.body.innerText.includes("/v1/audit/verdicts?agent=planner")');
    expect(complaints).toEqual([]);
    expect([...hosts].filter((host) => host !== "")).toEqual([new URL(stand.plane.url).host]);
    expect(await page.evaluate("scrollTo(1000, 0), scrollX")).toBe(0);
  },
);
