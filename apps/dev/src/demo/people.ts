import assert from "node:assert/strict";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { UrlElicitationRequiredError } from "@modelcontextprotocol/sdk/types.js";
import { approvalScope, exampleScope } from "../examples/agents.ts";
import { people as everyone } from "../provider/people.ts";
import { type Page, scriptedBrowser } from "../provider/scripted-browser.ts";
import { MemoryLogin } from "./login.ts";
import { callTool, obtained, type Step } from "./scene.ts";

/** The consents of a person, in her browser. */
export const people: readonly Step[] = [
  {
    title: "A stock MCP client logs in to a guarded server, and Ada consents in her browser",
    async run(scene, report) {
      const url = `${scene.stack.pep}/payments`;
      const browser = scriptedBrowser([scene.stack.controlPlane, scene.stack.openidProvider ?? ""]);
      const login = new MemoryLogin();
      report.asked(`${url}, by a client that knows only this address`);
      const transport = newTransport(url, login);
      await assert.rejects(newClient().connect(transport), UnauthorizedError);
      const choice = await browser.open(login.address ?? "");
      const page = await browser.press(choice, `Continue as ${everyone.ada?.name}`);
      report.decided(`401, which names where to log in; Ada signs in there, and reads "${heading(page)}"`);
      const { url: callback } = await browser.press(page, "Allow");
      await (transport as StreamableHTTPClientTransport).finishAuth(callback.searchParams.get("code") ?? "");
      const client = newClient();
      await client.connect(newTransport(url, login));
      scene.ada = { browser, client };
      const answer = await callTool(client, "list_invoices");
      assert.match(answer, /A-7/);
      report.decided(`Ada allows "${exampleScope}", and the client calls list_invoices: "${answer}"`);
      report.why("the client holds an access token for this server alone, and never a token of a hop");
    },
  },
  {
    title: "A payment needs Ada's approval, and she gives it for one minute",
    async run(scene, report) {
      const { browser, client } = obtained(scene, "ada");
      const pay = () => callTool(client, "pay_invoice", { invoice: "A-7" });
      report.asked("pay_invoice of A-7");
      const denied = await pay().catch((cause: unknown) => cause);
      assert(denied instanceof UrlElicitationRequiredError, String(denied));
      const page = await browser.open(denied.elicitations[0]?.url ?? "");
      assert.match(page.html, /<option value="60" selected>1 minute/);
      for (const shown of ["mcp:payments/pay_invoice", "privileged"]) {
        assert(page.html.includes(shown), `the page does not show "${shown}"`);
      }
      report.decided("denied, with a link for Ada; its page shows this one privileged tool, for 1 minute at most");
      assert.match((await browser.press(page, "Allow")).html, /Allowed/);
      const answer = await pay();
      assert.match(answer, /^paid A-7/);
      report.decided(`Ada allows it, and the same call succeeds: "${answer}"`);
      report.why(
        `scope "${approvalScope}" holds this tool alone, and its consent ends after a minute; it runs beside the first`,
      );
    },
  },
  {
    title: "Ada sees what she allowed, and ends it",
    async run(scene, report) {
      const { browser, client } = obtained(scene, "ada");
      report.asked(`${scene.stack.controlPlane}/me, and "End all"`);
      const mine = await browser.open(`${scene.stack.controlPlane}/me`);
      for (const shown of ["2 consents of yours are in force", approvalScope, "mcp:payments/pay_invoice"]) {
        assert(mine.html.includes(shown), `the page does not show "${shown}"`);
      }
      const ended = await browser.press(mine, "End all");
      assert.match(ended.html, /Nothing runs in your name now/);
      await assert.rejects(callTool(client, "list_invoices"), UnauthorizedError);
      report.decided("the page showed both consents and the payment; now the client's next call is refused");
      report.why("the end holds at once, in every process; to go further the client must ask Ada again");
      await client.close();
    },
  },
];

type Transport = Parameters<Client["connect"]>[0];

// The SDK's own types disagree on an optional session id.
const newTransport = (url: string, authProvider: MemoryLogin) =>
  new StreamableHTTPClientTransport(new URL(url), { authProvider }) as Transport;

/** It says that it can show its person an address. */
const newClient = (): Client =>
  new Client({ name: "notebook", version: "1.0.0" }, { capabilities: { elicitation: { url: {} } } });

const heading = ({ html }: Page): string => /<h1>([^<]*)<\/h1>/.exec(html)?.[1] ?? "";
