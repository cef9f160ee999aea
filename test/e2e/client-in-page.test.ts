import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { launchBrowser, visit } from "@svc/test-browser/chromium";
import { redirectUri } from "@svc/test-conformance/people-stack";
import { requires } from "@svc/test-support";
import type { Browser, Page } from "playwright-core";
import { build } from "rolldown";
import { afterAll, beforeAll, expect } from "vitest";
import { startFirst } from "./src/mcp/eras/servers.ts";
import { type GuardedServer, startGuardedServer } from "./src/oauth/guarded-server.ts";
import type { InPage, Sdk } from "./src/oauth/in-page.ts";

const { describe, test } = requires("chromium", "redis-server");

let guarded: GuardedServer;
let browser: Browser;
let application: Awaited<ReturnType<typeof startApplication>>;
beforeAll(async () => {
  [guarded, browser, application] = await Promise.all([
    startFirst().then(startGuardedServer),
    launchBrowser(),
    startApplication(),
  ]);
});
afterAll(async () => {
  await Promise.all([browser?.close(), application?.stop(), guarded?.stop()]);
});

/** A site of its own, whose only page has the SDKs. */
async function startApplication() {
  const input = fileURLToPath(new URL("./src/oauth/in-page.ts", import.meta.url));
  const { output } = await build({ input, platform: "browser", write: false, logLevel: "silent" });
  const code = output.find((one) => one.type === "chunk")?.code ?? "";
  const server = createServer(({ url }, response) => {
    const [type, body] = url === "/client.js" ? ["text/javascript", code] : ["text/html", html];
    response.writeHead(200, { "content-type": type }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, stop: () => server.close() };
}

const html = '<!doctype html><title>Notebook</title><script type="module" src="/client.js"></script>';

/** Calls what the page's script offers. */
const inPage = <Name extends keyof InPage>(page: Page, name: Name, ...args: Parameters<InPage[Name]>) =>
  page.evaluate(`page.${name}(...${JSON.stringify(args)})`) as ReturnType<InPage[Name]>;

describe.each<Sdk>(["1.x", "2.x"])("a page of another origin with the MCP SDK %s", (sdk) => {
  test("reads the metadata, and gets and refreshes the tokens of the person that allowed it", async () => {
    const page = await visit(browser, application.url);
    await page.goto("/", { waitUntil: "networkidle" });
    const asked = await inPage(page, "begin", sdk, guarded.resource, redirectUri);
    const ada = guarded.browser("ada");
    const { url } = await ada.submit(await ada.visit(asked ?? ""), { answer: "allow" });
    const answer = (name: string) => url.searchParams.get(name) ?? "";
    const finished = await inPage(page, "finish", sdk, guarded.resource, answer("code"), answer("iss"));
    const access = expect.stringMatching(/^svc_at_/);
    expect(finished).toMatchObject({ granted: { access_token: access }, refreshed: { access_token: access } });
    expect(finished.refreshed?.access_token).not.toBe(finished.granted?.access_token);
  });
});
