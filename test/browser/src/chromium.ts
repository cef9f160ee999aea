import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { testBearers } from "@svc/test-support";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

const names = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/** The machine's own browser: Debian's `chromium`, or one of its kin on the PATH. */
function executable(): string {
  const places = (process.env.PATH ?? "").split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)));
  const found = places.find((place) => {
    try {
      accessSync(place, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
  if (found === undefined) throw new Error("no browser on the PATH: install one with `apt-get install -y chromium`");
  return found;
}

export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: executable(),
    args: [
      "--no-sandbox",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--no-first-run",
    ],
  });

/** A fresh visitor with a page of their own; what is not found within the deadline fails. */
export async function visit(browser: Browser, baseURL: string, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ baseURL, ...options });
  context.setDefaultTimeout(10_000);
  return context.newPage();
}

/** As a person does it: by the form. */
export async function signIn(page: Page, path = "/console", token: string = testBearers.audit): Promise<void> {
  await page.goto(path);
  await page.getByLabel("Audit reader's token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}
