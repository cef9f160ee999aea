import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { programOf, requires, testBearers, waitUntil } from "@svc/test-support";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { launchBrowser, signIn, visit } from "./src/chromium.ts";
import { databaseOf } from "./src/cost.ts";
import { booking, writeHistory } from "./src/history.ts";
import { type Stand, startStandWithPeople } from "./src/stand.ts";

const { describe, test } = requires("chromium");

// A browser on a busy machine is slow.
let stand: Stand;
let browser: Browser;
beforeAll(async () => {
  [stand, browser] = await Promise.all([startStandWithPeople(), launchBrowser()]);
  await writeHistory(stand.database, stand.story, { decisions: 600, spanMs: 86_400_000 });
  await writeHistory(stand.database, stand.story, { decisions: 1, spanMs: 3_600_000, of: [booking] });
});
afterAll(async () => {
  await browser?.close();
  await stand?.stop();
});

/** A signed-in visitor, and all errors of their browser. */
async function signedIn(path: string, options: Parameters<typeof visit>[2] = {}) {
  const page = await visit(browser, stand.plane.url, options);
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  await signIn(page, path);
  return { page, complaints };
}

const heading = (page: Page): Promise<string | null> => page.locator("h1").textContent();

describe("a visitor", () => {
  test("signs in with the audit reader's token, and out again, by keyboard alone", async () => {
    const page = await visit(browser, stand.plane.url);
    await page.goto("/console");
    expect(await heading(page)).toBe("Sign in");
    await page.getByLabel("Audit reader's token").focus();
    await page.keyboard.type(testBearers.audit);
    await page.keyboard.press("Enter");
    await page.waitForURL("**/console");
    await page.keyboard.press("Tab");
    expect(await page.locator(":focus").textContent()).toBe("Skip to content");
    await page.getByRole("button", { name: "Sign out" }).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL("**/console/sign-in");
    await page.goto("/console/agents");
    expect(await heading(page)).toBe("Sign in");
  });

  test("with a wrong token is refused, and the page names the right one", async () => {
    const page = await visit(browser, stand.plane.url);
    await signIn(page, "/console", testBearers.identity);
    expect(await page.getByRole("alert").textContent()).toContain("SVC_AUDIT_TOKEN");
    expect(await page.context().cookies()).toEqual([]);
  });

  test("returns to the requested page after signing in", async () => {
    const { page } = await signedIn("/console/decisions?outcome=deny");
    expect(new URL(page.url()).search).toBe("?outcome=deny");
  });

  test("follows a deny from the overview to its cause and back to the person", async () => {
    const { page, complaints } = await signedIn("/console");
    await page.getByRole("link", { name: "the session touched untrusted data" }).click();
    await page.waitForURL("**/console/decisions?deny_reason=TAINT_BLOCKED");
    await page.locator(`a[href="/console/actions/${stand.story.tainted}"]`).click();
    expect(await page.locator(".notice").first().textContent()).toContain("(TAINT_BLOCKED)");
    const decisive = page.getByRole("row").filter({ hasText: "no: denied" });
    expect(await decisive.textContent()).toContain("mcp:web/fetch");
    expect(await page.getByRole("img", { name: /^Delegation chain/ }).getAttribute("aria-label")).toBe(
      "Delegation chain: person grace@example.com, then agent researcher, then agent auditor, then tool http:ledger/post_entry",
    );
    await page.getByRole("link", { name: "its decisions" }).click();
    expect(await page.locator("tbody tr").count()).toBeGreaterThan(3);
    expect(complaints).toEqual([]);
  });

  test("filters, and pages through the matching rows without a repeated row", async () => {
    const { page } = await signedIn("/console/decisions");
    await page.getByLabel("Outcome").selectOption("allow");
    await page.getByLabel("Caller").fill("planner");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.waitForURL("**agent=planner**");
    const seen: string[] = [];
    for (let pages = 1; pages <= 3; pages += 1) {
      const hrefs = await page
        .locator("tbody td:last-child a")
        .evaluateAll((links) => links.map((a) => a.getAttribute("href") ?? ""));
      expect(hrefs).toHaveLength(50);
      seen.push(...hrefs);
      expect(await page.locator("tbody tr .badge.deny, tbody tr .badge.observe").count()).toBe(0);
      await page.getByRole("link", { name: "Next page" }).click();
    }
    expect(new Set(seen).size).toBe(150);
    expect(await page.getByLabel("Caller").inputValue()).toBe("planner");
  });

  test("gets from an observed deny to the manifest that admits the call, which the service accepts", async () => {
    const { page } = await signedIn("/console/would-block");
    await page.getByRole("link", { name: "expenses" }).click();
    await page.getByText("All changes at once").click();
    const change = page.locator("details.change").filter({ hasText: "All changes at once" });
    expect(await change.textContent()).toContain("svc manifest submit planner.json");
    await change.getByText("planner.json", { exact: true }).last().click();
    const proposed = JSON.parse((await change.locator("pre").nth(1).textContent()) ?? "");
    const answer = await stand.api<{ status: string }>("/v1/manifests", { json: { ...proposed, override: {} } });
    expect(answer.status).toBe("attested");
    await page.goto("/console/agents/planner");
    expect(await page.locator("ins").first().textContent()).toContain("+");
    const { data } = await stand.api<{ data: object[] }>("/v1/audit/would-block?scope=expenses");
    expect(data.length).toBeGreaterThan(0);
  });

  test("sees a scope's graph with every person and agent", async () => {
    const { page } = await signedIn("/console/scope?name=expenses");
    const drawn = await page.locator("svg.graph text.name").allTextContents();
    expect(drawn.toSorted()).toEqual(["auditor", "planner", "researcher", "the person"]);
  });
});

describe("the page's script", () => {
  test("draws the plots under the page's own policy", async () => {
    const { page, complaints } = await signedIn("/console");
    await page.locator(".plot canvas").nth(1).waitFor();
    const painted = await page
      .locator(".plot canvas")
      .first()
      .evaluate((canvas) => {
        const { width, height } = canvas as HTMLCanvasElement;
        const { data } = (canvas as HTMLCanvasElement).getContext("2d")?.getImageData(0, 0, width, height) ?? {
          data: [],
        };
        return [...data].filter((value, at) => at % 4 === 3 && value > 0).length;
      });
    expect(painted).toBeGreaterThan(1_000);
    expect(complaints).toEqual([]);
  });

  test("shows new decisions while the page is open", async () => {
    const { page, complaints } = await signedIn("/console/decisions");
    const before = await page.locator("tbody tr").first().textContent();
    await page.getByLabel("Follow live").check();
    await writeHistory(stand.database, stand.story, { decisions: 40, spanMs: 1_000 });
    await page.locator("tr.fresh").first().waitFor();
    expect(await page.locator("tbody tr").first().textContent()).not.toBe(before);
    expect(await page.getByRole("status").textContent()).toMatch(/^Following\. \d+ new at/);
    expect(complaints).toEqual([]);
  });

  test("shows times of the reader's zone with UTC in their titles, and takes them in a filter", async () => {
    const { page, complaints } = await signedIn("/console/decisions?since=2026-01-31%2012:00", {
      timezoneId: "Asia/Kolkata",
    });
    const since = page.getByLabel("Since", { exact: true });
    expect(await since.inputValue()).toBe("2026-01-31 17:30");
    const shown = page.locator("tbody time").first();
    const at = new Date((await shown.getAttribute("datetime")) ?? "");
    const local = new Date(at.getTime() + 5.5 * 3_600_000).toISOString();
    expect(await shown.textContent()).toBe(local.slice(0, 19).replace("T", " "));
    expect(await shown.getAttribute("title")).toBe(`${at.toISOString().slice(0, 19).replace("T", " ")} UTC`);
    await since.fill("2026-02-01 05:30");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.waitForURL("**since=2026-02-01T00%3A00%3A00Z**");
    expect(complaints).toEqual([]);
  });

  test("is not needed for reading", async () => {
    const { page } = await signedIn("/console", { javaScriptEnabled: false });
    await page.getByText("As a table").click();
    expect(await page.getByRole("table", { name: /Newest first/ }).isVisible()).toBe(true);
    for (const name of ["Map", "Decisions", "Would block", "Scopes", "Agents", "Sessions", "Denials", "Events"]) {
      await page.getByRole("navigation", { name: "Console" }).getByRole("link", { name, exact: true }).click();
      expect(await page.locator("h1").count()).toBe(1);
      expect(await page.locator("table").first().isVisible()).toBe(true);
    }
    expect(await page.getByLabel("Follow live").isVisible()).toBe(false);
  });
});

test("stored markup is shown as text in the browser, and does not run or load", async () => {
  const text = "<img src=x onerror=alert(1)><svg onload=alert(1)>";
  const manifest = { scopes: { [text]: { hop_budget: 2, tools: [{ ref: "http:x/y", data_classes: ["z"] }] } } };
  await stand.api("/v1/agents", { json: { name: "mallory", manifest, override: { reason: text } } });
  await stand.api("/v1/consent", { json: { scope: text, user_sub: text } });
  await stand.api(`/v1/blocks/scope/${encodeURIComponent(text)}`, { method: "PUT", json: { reason: text } });
  const { page, complaints } = await signedIn("/console");
  let dialogs = 0;
  page.on("dialog", (dialog) => {
    dialogs += 1;
    void dialog.dismiss();
  });
  for (const path of [
    "/console",
    "/console/scopes",
    `/console/scope?name=${encodeURIComponent(text)}`,
    "/console/agents/mallory",
    "/console/sessions",
    "/console/denials",
  ]) {
    await page.goto(path);
    expect(await page.locator("main").textContent()).toContain(text.slice(0, 18));
    expect(await page.locator("main img").count()).toBe(0);
  }
  expect(dialogs).toBe(0);
  expect(complaints).toEqual([]);
});

describe("an administrator who investigates a booking", () => {
  const run = promisify(execFile);
  let clicks = 0;
  const click = async (target: Locator): Promise<void> => {
    clicks += 1;
    await target.click();
  };

  async function administrator(): Promise<Page> {
    const page = await visit(browser, stand.plane.url);
    await page.goto("/sign-in?next=/console");
    await page.getByLabel("Another login").fill("ada");
    await page.getByRole("button", { name: "Continue", exact: true }).click();
    await page.waitForURL("**/console");
    return page;
  }

  /** As the page prints it, without this service's database or a bearer. */
  async function verify(page: Page, folder: string): Promise<string> {
    const printed = (await page.locator("pre", { hasText: "svc audit verify --jwks" }).first().textContent()) ?? "";
    const [, ...args] = printed.trim().split(" ");
    const { stdout } = await run(process.execPath, [programOf("@svc/cli/main"), ...args], { cwd: folder, env: {} });
    return stdout;
  }

  test("finds whose consent let it happen, what else the session touched, proves it and stops it: seven clicks, one command", async () => {
    const database = databaseOf(stand.database);
    await waitUntil("the history to be sealed", async () => (await database.sealedRows()) >= 601);
    await database.end();
    const folder = await mkdtemp(join(tmpdir(), "svc-investigation-"));
    const page = await administrator();

    await click(page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: "Decisions" }));
    await page.getByLabel("Target", { exact: true }).fill("http:travel/book");
    await page.getByLabel("Outcome").selectOption("allow");
    await click(page.getByRole("button", { name: "Filter" }));
    await click(page.locator("tbody td:last-child a"));
    expect(await page.getByRole("img", { name: /^Delegation chain/ }).count()).toBe(1);
    const consent = page.locator("dl.facts div").filter({ hasText: /^Consent/ });
    expect(await consent.textContent()).toContain("ada@example.com");

    const download = page.waitForEvent("download");
    await click(page.getByRole("link", { name: "Download the evidence of this decision" }));
    const file = await download;
    await file.saveAs(join(folder, file.suggestedFilename()));
    expect(await verify(page, folder)).toContain("http:travel/book");

    const session = page.locator("dl.facts div").filter({ hasText: /^Session/ });
    await click(session.getByRole("link"));
    await page.waitForURL("**/console/sessions/*");
    expect(await page.locator("main").textContent()).toContain("http:travel/search");

    await click(page.getByRole("link", { name: "End this session" }));
    await page.getByLabel("Reason, kept in the record").fill("the customer never asked for this booking");
    await click(page.getByRole("button", { name: "End this session" }));
    await page.getByRole("status").filter({ hasText: "1 session ended." }).waitFor();
    expect(await page.locator("dl.facts").first().textContent()).toContain("the customer never asked for this booking");
    expect(clicks).toBe(7);
    await rm(folder, { recursive: true });
  });
});
