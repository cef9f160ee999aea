import { type PeopleStack, startPeopleStack } from "@svc/test-conformance/people-stack";
import { aTool, requires, testBearers, waitUntil } from "@svc/test-support";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { launchBrowser, visit } from "./src/chromium.ts";
import { examine, height, type Scheme, schemes, widths } from "./src/examine.ts";

const { describe, test } = requires("chromium", "redis-server");

let stack: PeopleStack;
let browser: Browser;
beforeAll(async () => {
  const settings = { SVC_CONSOLE_ROLES: "platform=admin" };
  [stack, browser] = await Promise.all([startPeopleStack(settings), launchBrowser()]);
  await stack.register("planner", { expenses: { hop_budget: 3, tools: [aTool("http:ledger/read")] } });
});
afterAll(async () => {
  await browser?.close();
  await stack?.stop();
});

const open = (scheme: Scheme = "light"): Promise<Page> =>
  visit(browser, stack.issuer, { colorScheme: scheme, viewport: { width: widths[0], height } });

/** From the console's sign-in page to the provider. */
async function toProvider(page: Page): Promise<void> {
  await page.goto("/console/agents");
  await page.getByRole("link", { name: `Sign in with ${new URL(stack.provider.issuer).host}` }).click();
  await page.getByLabel("Another login").waitFor();
}

async function signIn(page: Page, person: string): Promise<void> {
  await toProvider(page);
  await page.getByLabel("Another login").fill(person);
  await page.getByRole("button", { name: "Continue", exact: true }).click();
  await page.waitForURL("**/console/agents");
}

test("a person signs in at the provider, reads the console under their name, and signs out", async () => {
  const page = await open();
  await signIn(page, "ada");
  expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Agents");
  await page.getByText("Ada Lovelace").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL("**/sign-out");
  await page.getByText("You are signed out of this service.").waitFor();
  await page.goto("/console/agents");
  await page.waitForURL("**/console/sign-in?*");
});

test("an act is done once: on a double click, the way back and a reload, by keyboard and without JavaScript", async () => {
  const page = await visit(browser, stack.issuer, { javaScriptEnabled: false });
  await signIn(page, "ada");
  await page.goto("/console/agents/planner");
  await page.getByRole("link", { name: "Block this agent" }).click();
  await page.getByLabel("Reason, kept in the record").fill("it books what no person asked for");
  await page.getByRole("button", { name: "Block this agent" }).dblclick();
  await page.getByText(/is blocked\.|This form was sent before/).waitFor();

  // The second click may be answered while the first is still at work.
  await waitUntil("the block", async () => {
    await page.goto("/console/agents/planner");
    return (await page.getByRole("link", { name: "Block this agent" }).count()) === 0;
  });
  await page.getByRole("link", { name: "Lift the block" }).click();
  await page.getByLabel("Reason, kept in the record").focus();
  await page.keyboard.type("it was misread");
  await page.keyboard.press("Tab");
  expect(await page.locator(":focus").textContent()).toBe("Lift the block");
  await page.keyboard.press("Enter");
  await page.getByText("is lifted.").waitFor();
  await page.reload();
  await page.getByRole("link", { name: "Block this agent" }).waitFor();
  await page.goBack();
  await page.getByText("It would change nothing.").waitFor();

  for (const kind of ["block_set", "block_lifted"]) {
    const { body } = await stack.api.call("GET", `/v1/audit/events?kind=${kind}`, { bearer: testBearers.audit });
    expect([kind, body.data.length]).toEqual([kind, 1]);
  }
});

describe.each(schemes)(
  "in %s mode, at 375 and 1440 px, the accessibility rules hold and everything fits on",
  (scheme) => {
    test("the sign-in page with a provider", async () => {
      const page = await open(scheme);
      await page.goto("/console");
      await page.getByRole("link", { name: /^Sign in with/ }).waitFor();
      expect(await examine(page)).toEqual([]);
    });

    test("the page of a person without a role, and the one after signing out", async () => {
      const page = await open(scheme);
      await signIn(page, "ben");
      await page.getByRole("heading", { name: "No access" }).waitFor();
      expect(await examine(page)).toEqual([]);
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.waitForURL("**/sign-out");
      expect(await examine(page)).toEqual([]);
    });

    test("the page of a sign-in that was cancelled at the provider", async () => {
      const page = await open(scheme);
      await toProvider(page);
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByRole("heading", { name: "Sign-in failed" }).waitFor();
      expect(await examine(page)).toEqual([]);
    });
  },
);
