import { aTool, startEchoUpstream } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { answerIn, type PeopleStack, startPeopleStack, stockClient } from "../src/people-stack.ts";

/** Clients that no setting names: the address of their document is their id. */
let stack: PeopleStack;
let host: Awaited<ReturnType<typeof startEchoUpstream>>;
const documents: Record<string, { status?: number; headers?: Record<string, string>; body: string }> = {};
beforeAll(async () => {
  host = await startEchoUpstream((request, response) => {
    const { status = 200, headers = {}, body } = documents[request.url] ?? { status: 404, body: "" };
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
  });
  stack = await startPeopleStack();
  await stack.register("planner", { expenses: { hop_budget: 3, tools: [aTool("http:ledger/read")] } });
});
afterAll(async () => {
  await stack.stop();
  await host.stop();
});

let count = 0;
/** Serves a document, and returns its address. */
function served(change: (id: string) => Partial<(typeof documents)[string]> & { document?: object }): string {
  const path = `/clients/${++count}`;
  const id = `${host.url}${path}`;
  const { document = {}, ...answer } = change(id);
  const base = { client_id: id, client_name: "Remote Notebook", redirect_uris: [callback] };
  documents[path] = { body: JSON.stringify({ ...base, ...document }), ...answer };
  return id;
}
const callback = "https://remote-notebook.test/callback";

test("a client that its document names logs in, and the page shows the document's address", async () => {
  const id = served(() => ({}));
  const { begin } = await stockClient(stack, id);
  const login = await begin({ redirect_uri: callback });
  const ada = stack.browser("ada");
  const page = await ada.visit(login.url);
  expect(page.text).toContain("Remote Notebook");
  expect(page.text).toContain(id);
  const back = await ada.submit(page, { answer: "allow" });
  const tokens = await login.finish(back.url);
  expect((await stack.redeem(tokens.access_token)).body).toMatchObject({ client_id: id, agent: "planner" });
});

test("a document names the scope of requests that name none, and is read once", async () => {
  const id = served(() => ({ document: { scope: "expenses" } }));
  const { begin } = await stockClient(stack, id);
  for (const _ of [1, 2]) {
    const page = await stack.browser("ada").visit((await begin({ redirect_uri: callback, scope: "" })).url);
    expect(page.text).toContain("http:ledger/read");
  }
  expect(host.requests.filter(({ url }) => id.endsWith(url))).toHaveLength(1);
});

test("an application's own scheme is an address to return to, as desktop clients have it", async () => {
  const own = "cursor://anysphere.cursor-mcp/oauth/callback";
  const id = served(() => ({ document: { redirect_uris: [own] } }));
  const { begin } = await stockClient(stack, id);
  const ada = stack.browser("ada");
  const back = await ada.submit(await ada.visit((await begin({ redirect_uri: own })).url), { answer: "allow" });
  expect(back.url.href.startsWith(`${own}?`)).toBe(true);
  expect(answerIn(back)).toHaveProperty("code");
});

test("a stranger who did not sign in causes no request", async () => {
  const id = served(() => ({}));
  const { begin } = await stockClient(stack, id);
  const response = await fetch((await begin({ redirect_uri: callback })).url, { redirect: "manual" });
  expect(response.headers.get("location")).toMatch(/^\/sign-in\?next=/);
  expect(host.requests.filter(({ url }) => id.endsWith(url))).toHaveLength(0);
});

describe("a document is of no use", () => {
  test.each<[string, Parameters<typeof served>[0]]>([
    ["of another client", () => ({ document: { client_id: "https://other.test/client" } })],
    ["that holds a secret", () => ({ document: { client_secret: "a-secret" } })],
    ["of a client that signs its requests", () => ({ document: { token_endpoint_auth_method: "private_key_jwt" } })],
    ["without an address to return to", () => ({ document: { redirect_uris: [] } })],
    ["whose address to return to is a script", () => ({ document: { redirect_uris: ["javascript:alert(1)"] } })],
    ["whose address to return to is plain HTTP", () => ({ document: { redirect_uris: ["http://notebook.test/"] } })],
    ["that is no JSON", () => ({ body: "<html>" })],
    ["that is too long", () => ({ document: { padding: "x".repeat(6_000) } })],
    ["that is a redirect", (id) => ({ status: 302, headers: { location: `${id}/other` } })],
    ["that is not found", () => ({ status: 404 })],
  ])("%s", async (_name, change) => {
    const { begin } = await stockClient(stack, served(change));
    const shown = await stack.browser("ada").visit((await begin({ redirect_uri: callback })).url);
    expect(shown.status).toBe(400);
    expect(shown.text).toContain("This application cannot be let in");
  });

  test.each([
    "http://169.254.169.254/latest/meta-data",
    "https://10.0.0.1/client",
    "https://[fd00::1]/client",
    "http://remote-notebook.test/client",
    "https://remote-notebook.test/",
    "https://remote-notebook.test/a/../client",
    "https://user:secret@remote-notebook.test/client",
    "file:///etc/passwd",
  ])("at %s: nothing is read", async (id) => {
    const { begin } = await stockClient(stack, id);
    const shown = await stack.browser("ada").visit((await begin({ redirect_uri: callback })).url);
    expect(shown.status).toBe(400);
    expect(shown.text).toContain("This application cannot be let in");
  });
});
