import { locate, testBearers } from "@svc/test-support";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: locate("chromium"),
    args: [
      "--no-sandbox",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--no-first-run",
    ],
  });

/** A new visitor with their own page; a missing element fails at the deadline. */
export async function visit(browser: Browser, baseURL: string, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ baseURL, ...options });
  context.setDefaultTimeout(240_000);
  return context.newPage();
}

/** As a person does it: by the form. */
export async function signIn(page: Page, path = "/console", token: string = testBearers.audit): Promise<void> {
  await page.goto(path);
  await page.getByLabel("Audit reader's token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}
