import { aTool, requires } from "@svc/test-support";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { launchBrowser, signIn, visit } from "./src/chromium.ts";
import { examine, height, type Scheme, schemes, widths } from "./src/examine.ts";
import { writeHistory } from "./src/history.ts";
import { type Stand, startStandWithPeople } from "./src/stand.ts";

const { describe, test } = requires("chromium");

// A browser on a busy machine is slow.
let stand: Stand;
let browser: Browser;
beforeAll(async () => {
  [stand, browser] = await Promise.all([startStandWithPeople(), launchBrowser()]);
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

/** What is hidden, and what is cut, on A4 paper with margins. */
const onPaper = (page: Page) =>
  page.evaluate(() => ({
    hidden: ["header nav", ".search", ".filter", ".acts"].filter((part) =>
      [...document.querySelectorAll(part)].every((element) => (element as HTMLElement).offsetParent === null),
    ),
    cut: [...document.querySelectorAll<HTMLElement>("html, .table, pre, .graph-frame")]
      .filter((element) => element.scrollWidth > element.clientWidth + 1)
      .map(({ className, tagName }) => `${tagName} ${className}`),
    page: getComputedStyle(document.body).backgroundColor,
  }));

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
    ["an agent whose newest manifest is not in force", () => "/console/agents/auditor"],
    ["the sessions", () => "/console/sessions"],
    ["a session", ({ story }) => `/console/sessions/${story.sessionId}`],
    ["a session with taint", ({ story }) => `/console/sessions/${story.sessions[1]?.session_id}`],
    ["an ended session", ({ story }) => `/console/sessions/${story.ended}`],
    ["the denials", () => "/console/denials"],
    ["the events", () => "/console/events"],
    ["the map", () => "/console/map"],
    ["a person", () => "/console/person?sub=ada%40example.com"],
    ["a tool", () => "/console/tool?name=http:ledger/read_entry"],
    ["a tool that is blocked", () => "/console/tool?name=http:travel/book"],
    ["a search with results", () => "/console/search?q=ledger"],
    ["a search without results", () => "/console/search?q=nothing"],
    ["decisions that no filter matches", () => "/console/decisions?agent=absent&since=2099-01-01"],
    ["a cursor of another list", () => "/console/decisions?cursor=garbage"],
    ["a wrong filter of events", () => "/console/events?kind=perhaps"],
    ["a wrong filter", () => "/console/decisions?outcome=perhaps&since=soon&nonsense=1"],
    ["a page that is not there", () => "/console/nowhere"],
    ["a refused address", () => "/console/decisions?outcome=deny&outcome=allow"],
  ])("%s passes the accessibility rules, and fits the width", async (_name, pathOf) => {
    expect(await everywhere((page) => page.goto(pathOf(stand)))).toEqual([]);
  });
});

test.each<[string, (stand: Stand) => string]>([
  ["decisions", () => "/console/decisions?limit=8"],
  ["a decision", ({ story }) => `/console/actions/${story.tainted}`],
  ["a session", ({ story }) => `/console/sessions/${story.sessionId}`],
  ["the map", () => "/console/map"],
])("%s: printed dark on white, whole, without what only a screen can do", async (_name, pathOf) => {
  for (const { page } of pages) {
    await page.goto(pathOf(stand));
    await page.setViewportSize({ width: 718, height });
    await page.emulateMedia({ media: "print" });
    const { hidden, cut, page: color } = await onPaper(page);
    await page.emulateMedia({ media: null });
    expect({ hidden: hidden.length, cut, color }).toEqual({ hidden: 4, cut: [], color: "rgb(255, 255, 255)" });
  }
});

describe("of the acts of an administrator, in light and dark mode, at 375 and 1440 px", () => {
  let administrators: typeof pages;
  beforeAll(async () => {
    const signInAs = async (scheme: Scheme) => {
      const viewport = { width: widths[0], height };
      const page = await visit(browser, stand.plane.url, { colorScheme: scheme, viewport });
      await page.goto("/sign-in?next=/console/agents");
      await page.getByLabel("Another login").fill("ada");
      await page.getByRole("button", { name: "Continue", exact: true }).click();
      await page.waitForURL("**/console/agents");
      return { scheme, page };
    };
    administrators = await Promise.all(schemes.map(signInAs));
  });

  /** An agent with a scope and a tool of its name, for which one person consented. */
  async function subject() {
    const name = `a${crypto.randomUUID().slice(0, 8)}`;
    const manifest = { scopes: { [name]: { hop_budget: 3, tools: [aTool(`http:${name}/read`)] } } };
    await stand.api("/v1/agents", { json: { name, manifest, override: { reason: "no server" } } });
    const consent = { scope: name, user_sub: name };
    const { session_id: session } = await stand.api<{ session_id: string }>("/v1/consent", { json: consent });
    return { name, session };
  }
  type Subject = Awaited<ReturnType<typeof subject>>;

  /** Offered, asked for, and done; each page without a fault, and the act no longer offered. */
  async function act(page: Page, name: string): Promise<string[]> {
    await page.getByRole("link", { name, exact: true }).click();
    await page.getByLabel("Reason, kept in the record").fill("seen in an incident");
    const found = await examine(page);
    await page.getByRole("button", { name, exact: true }).click();
    await page.getByRole("status").filter({ hasText: "The record has it" }).waitFor();
    expect(await page.getByRole("link", { name, exact: true }).count()).toBe(0);
    return [...found, ...(await examine(page))];
  }

  test.each<[acts: readonly string[], path: (of: Subject) => string]>([
    [["Block this agent", "Lift the block", "Revoke this agent"], ({ name }) => `/console/agents/${name}`],
    [["Block this scope", "Lift the block"], ({ name }) => `/console/scope?name=${name}`],
    [["Block this tool", "Lift the block"], ({ name }) => `/console/tool?name=http:${name}/read`],
    [["End this session"], ({ session }) => `/console/sessions/${session}`],
    [["End all sessions of this person"], ({ name }) => `/console/person?sub=${name}`],
  ])("%s: the pages pass the accessibility rules", async (acts, pathOf) => {
    const found = administrators.map(async ({ scheme, page }) => {
      await page.goto(pathOf(await subject()));
      const faults: string[] = [];
      for (const name of acts) faults.push(...(await act(page, name)));
      return faults.map((fault) => `in ${scheme} ${fault}`);
    });
    expect((await Promise.all(found)).flat()).toEqual([]);
  });
});
