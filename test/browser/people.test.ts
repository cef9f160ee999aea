import {
  answerIn,
  deniedCall,
  type PeopleStack,
  startPeopleStack,
  stockClient,
} from "@svc/test-conformance/people-stack";
import { aTool, requires, startEchoUpstream } from "@svc/test-support";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { launchBrowser, visit } from "./src/chromium.ts";
import { examine, height, type Scheme, schemes, widths } from "./src/examine.ts";

const { describe, test } = requires("chromium", "redis-server");

let stack: PeopleStack;
let browser: Browser;
/** The client's server, on loopback as a native application's. */
let client: Awaited<ReturnType<typeof startEchoUpstream>>;
let callback: string;
beforeAll(async () => {
  client = await startEchoUpstream((_request, response) => response.end("back at the notebook"));
  callback = `${client.url}/callback`;
  [stack, browser] = await Promise.all([
    startPeopleStack({ SVC_CONSENT_TTL_BY_SCOPE: "payments-approval=60" }),
    launchBrowser(),
  ]);
  await stack.register("researcher", { expenses: { hop_budget: 2, entry: false, tools: [aTool("http:web/search")] } });
  await stack.register("planner", {
    expenses: {
      hop_budget: 3,
      downstream_agents: ["researcher"],
      tools: [aTool("http:ledger/read"), aTool("http:ledger/pay", { privileged: true, access: "write" })],
    },
    "payments-approval": {
      hop_budget: 2,
      tools: [aTool("http:bank/send", { privileged: true, access: "write", data_classes: ["payments"] })],
    },
  });
});
afterAll(async () => {
  await browser?.close();
  await stack?.stop();
  await client?.stop();
});

/** Signs in at the provider, as it asks. */
async function logIn(page: Page, person: string): Promise<void> {
  await page.getByLabel("Another login").fill(person);
  await page.getByRole("button", { name: "Continue", exact: true }).click();
}

/** A visitor on a phone, before the client's question. */
async function asked(scheme: Scheme = "light", person = "ada") {
  const { begin } = await stockClient(stack);
  const login = await begin({ redirect_uri: callback });
  const page = await visit(browser, stack.issuer, { colorScheme: scheme, viewport: { width: widths[0], height } });
  await page.goto(login.url.href);
  await logIn(page, person);
  return { page, login };
}

test("a person allows by keyboard alone, and the browser returns to the client with its code", async () => {
  const { page, login } = await asked();
  expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Allow planner to act for you?");
  await page.getByLabel("For how long").focus();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForURL(`${callback}?*`);
  const tokens = await login.finish(new URL(page.url()));
  expect((await stack.redeem(tokens.access_token)).body).toMatchObject({ agent: "planner" });
});

test("a person refuses, and the client gets access_denied", async () => {
  const { page } = await asked();
  await page.getByRole("button", { name: "Refuse" }).click();
  await page.waitForURL(`${callback}?*`);
  expect(answerIn({ url: new URL(page.url()) })).toMatchObject({ error: "access_denied" });
});

test("a person ends what it allowed", async () => {
  const { page } = await asked("light", "eve");
  await page.getByRole("button", { name: "Allow" }).click();
  await page.waitForURL(`${callback}?*`);
  await page.goto("/me");
  await page.getByText("1 consent of yours is in force.").waitFor();
  await page.getByRole("button", { name: "End it" }).click();
  await page.getByText("Nothing runs in your name now.").waitFor();
});

describe.each(schemes)(
  "in %s mode, at 375 and 1440 px, the accessibility rules hold and everything fits on",
  (scheme) => {
    test("a client's question, and the same shown anew", async () => {
      const { page } = await asked(scheme);
      expect(await examine(page)).toEqual([]);
    });

    test("the question of a denied call, its answer, and what was allowed", async () => {
      const { decision } = await deniedCall(stack, {
        target: "http:bank/send",
        target_kind: "tool",
        data_class: "payments",
      });
      const { page } = await asked(scheme);
      await page.goto(decision.consent_url);
      await page.getByText("was stopped").waitFor();
      expect(await examine(page)).toEqual([]);
      await page.getByRole("button", { name: "Allow" }).click();
      await page.getByText("planner may continue now.").waitFor();
      expect(await examine(page)).toEqual([]);
      await page.goto("/me");
      expect(await examine(page)).toEqual([]);
    });

    test("a link that is over", async () => {
      const { page } = await asked(scheme);
      await page.goto("/consent?ask=nothing");
      expect(await examine(page)).toEqual([]);
    });
  },
);
