import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { AuthzClient } from "@svc/client";
import { scriptedBrowser } from "@svc/dev/scripted-browser";
import { type DevStack, spawnApp, spawnDev, waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { recipesOf, startRecipe } from "./src/recipes.ts";

const page = "approvals.md";
const recipes = recipesOf(page);
const folder = mkdtempSync(join(tmpdir(), "svc-approvals-"));

let stack: DevStack;
let client: AuthzClient;
beforeAll(async () => {
  stack = await spawnDev(["--port", "0"], parseEnv(recipes.get("control-plane.env") ?? "") as Record<string, string>);
  client = new AuthzClient({
    ...{ baseUrl: stack.control_plane, tracePath: "" },
    ...{ adminToken: stack.admin_token, auditToken: stack.audit_token },
  });
  const manifest = join(folder, "planner.yaml");
  writeFileSync(
    manifest,
    (recipes.get("planner.yaml") ?? "").replace("http://127.0.0.1:9300", new URL(stack.example_mcp).origin),
  );
  const submitted = spawnApp({
    main: "@svc/cli/main",
    args: ["manifest", "submit", manifest],
    env: { SVC_CONTROL_PLANE_URL: stack.control_plane, SVC_ADMIN_TOKEN: stack.admin_token },
  });
  expect(await submitted.exited, submitted.output()).toBe(0);
});
afterAll(async () => {
  await client?.close();
  await stack?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Of ada's agent, which works under `expenses`. */
async function agentToken(): Promise<string> {
  const session = await client.consent({ scope: "expenses", userSub: "ada" });
  const [, planner] = await client.hop(session.context(), {
    ...({ target: "planner", targetKind: "agent", dataClass: "payments" } as const),
  });
  return planner.token;
}

/** Signs in as ada, and follows the link. */
async function asked(link: string) {
  const browser = scriptedBrowser([stack.control_plane, stack.openid_provider ?? ""]);
  return { browser, question: await browser.press(await browser.open(link), "Continue as Ada Lovelace") };
}

async function startPaying() {
  const child = await startRecipe(page, "pay.mjs", { PEP_URL: stack.pep, AGENT_TOKEN: await agentToken() });
  await waitUntil("the link", () => child.hasExited() || child.stdout().includes("/consent?ask="));
  return { child, link: /http:\S+\/consent\?ask=\S+/.exec(child.stdout())?.[0] ?? child.output() };
}

test("a payment waits for its person, who sees one privileged tool for a minute, and succeeds once allowed", async () => {
  const { child, link } = await startPaying();
  const { browser, question } = await asked(link);
  expect(question.html).toContain("mcp:payments/pay_invoice");
  expect(question.html).not.toContain("list_invoices");
  expect(question.html).toContain('<option value="60" selected>1 minute');
  expect((await browser.press(question, "Allow")).html).toContain("Allowed");
  expect(await child.exited, child.output()).toBe(0);
  expect(child.stdout()).toContain("paid A-7");
  const { data } = await client.audit.sessions({ scope: "payments-approval" });
  const [approval] = data;
  // A session ends with a whole second.
  const lifeMs = Date.parse(approval?.expiresAt ?? "") - Date.parse(approval?.consentedAt ?? "");
  expect(lifeMs).toBeGreaterThan(58_000);
  expect(lifeMs).toBeLessThanOrEqual(60_000);
});

test("an approval admits no payment of another session, and a refused one stays denied", async () => {
  const { child, link } = await startPaying();
  const { browser, question } = await asked(link);
  const denials = async () => {
    const { data } = await client.audit.decisions({ outcome: "deny" });
    return data.length;
  };
  expect((await browser.press(question, "Refuse")).html).toContain("Refused");
  const before = await denials();
  await waitUntil("another try", async () => (await denials()) > before);
  expect(child.hasExited(), child.output()).toBe(false);
  await child.stop();
});

test("every recipe of the page is used here", () => {
  expect([...recipes.keys()]).toEqual(["planner.yaml", "control-plane.env", "pay.mjs"]);
});
