import { mkdir, stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { launchBrowser, signIn, visit } from "./chromium.ts";
import { writeHistory } from "./history.ts";
import { startStand } from "./stand.ts";
import type { Story } from "./story.ts";

/** `pnpm screenshots`: the README's pages, of a real control plane with a day of history. */

const folder = new URL("../../../apps/control-plane/docs/", import.meta.url);
const maxBytes = 200_000;
const dayMs = 86_400_000;

interface Shot {
  readonly file: string;
  readonly path: (story: Story) => string;
  readonly scheme: "light" | "dark";
  readonly size: { readonly width: number; readonly height: number };
  /** Opens something before the screenshot. */
  readonly prepare?: (page: Page) => Promise<void>;
}

const desk = { width: 1440, height: 900 };
const hand = { width: 375, height: 812 };

const openChange = async (page: Page): Promise<void> => {
  const change = page.locator("details.change").first();
  await change.locator("summary").first().click();
  await change.scrollIntoViewIfNeeded();
};

const shots: readonly Shot[] = [
  { file: "overview.png", path: () => "/console", scheme: "light", size: desk },
  { file: "overview-dark.png", path: () => "/console", scheme: "dark", size: desk },
  { file: "decision.png", path: ({ tainted }) => `/console/actions/${tainted}`, scheme: "light", size: desk },
  {
    file: "would-block.png",
    path: () => "/console/would-block?scope=expenses",
    scheme: "light",
    size: desk,
    prepare: openChange,
  },
  { file: "scope.png", path: () => "/console/scope?name=expenses", scheme: "light", size: desk },
  { file: "decisions-narrow.png", path: () => "/console/decisions", scheme: "dark", size: hand },
];

const stand = await startStand();
const browser = await launchBrowser();
try {
  await writeHistory(stand.database, stand.story, { decisions: 12_000, spanMs: dayMs });
  await mkdir(folder, { recursive: true });
  for (const { file, path, scheme, size, prepare } of shots) {
    const page = await visit(browser, stand.plane.url, { colorScheme: scheme, viewport: size });
    await signIn(page, path(stand.story));
    await page.waitForLoadState("networkidle");
    await prepare?.(page);
    const place = fileURLToPath(new URL(file, folder));
    await page.screenshot({ path: place });
    const { size: bytes } = await stat(place);
    console.log(`${file}  ${Math.round(bytes / 1000)} kB`);
    if (bytes > maxBytes) throw new Error(`${file} is larger than ${maxBytes} bytes: show less of the page`);
    await page.context().close();
  }
} finally {
  await browser.close();
  await stand.stop();
}
// The database server of this process ends with it.
process.exit();
