import { readFileSync } from "node:fs";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { classifier } from "@svc/classify";
import { describe, expect, test } from "vitest";
import { authorizedMcpTransport, authorizedTool } from "../src/index.ts";
import { errorOf, fakeSession, read } from "./support/fake-client.ts";
import { toolUrl } from "./support/fake-plane.ts";

const dataClass = classifier({
  classify: [{ when: { "/amount": { max: 500 } }, data_class: "pay.small" }],
  data_class: "pay.any",
});
const pay = { target: "http:bank/pay", targetKind: "tool", dataClass } as const;

async function setup() {
  const { svc, plane, session } = await fakeSession();
  /** Of the calls that were decided. */
  const classes = () =>
    plane.sent.filter(({ url }) => url.pathname === "/v1/authorize").map(({ body }) => JSON.parse(body).data_class);
  return { svc, plane, context: session.context(), classes };
}

describe("a function of the parameters gives the data class", () => {
  test("of a hop, by what JSON sends of them", async () => {
    const { svc, context, classes } = await setup();
    for (const amount of [5, 501, { toJSON: () => 5 }]) await svc.authorize(context, { ...pay, params: { amount } });
    await svc.hop(context, { ...pay, params: { amount: 5 } });
    await svc.authorize(context, pay);
    expect(classes()).toEqual(["pay.small", "pay.any", "pay.small", "pay.small", "pay.any"]);
  });

  test("of a sent call, by the body that is sent", async () => {
    const { svc, plane, context, classes } = await setup();
    const params = { amount: 5 };
    await svc.call(context, { ...pay, params, request: { url: toolUrl } });
    const headers = { "content-type": "application/json" };
    await svc.call(context, { ...pay, params, request: { url: toolUrl, headers, body: '{ "amount": 5.0 }' } });
    expect(classes()).toEqual(["pay.small", "pay.small"]);
    expect(plane.toolReceived).toHaveLength(2);
  });

  test.each([
    ["another body", { params: { amount: 5 }, request: { url: toolUrl, body: '{"amount":501}' } }],
    ["a body without parameters", { request: { url: toolUrl, body: '{"amount":5}' } }],
    ["parameters that are not sent", { params: { amount: 5 }, request: { url: toolUrl, method: "GET" } }],
  ])("and %s is refused before anything is decided", async (_name, more) => {
    const { svc, plane, context, classes } = await setup();
    expect(await errorOf(svc.call(context, { ...pay, ...more }))).toBeInstanceOf(TypeError);
    expect([classes(), plane.toolReceived]).toEqual([[], []]);
  });

  test("of a tool of an MCP server, by its arguments, and of another method by its params", async () => {
    const { svc, context, classes } = await setup();
    const [near, far] = InMemoryTransport.createLinkedPair();
    const uris = classifier({ classify: [{ when: { "/uri": { prefix: "file:///a" } }, data_class: "docs.a" }] });
    const options = {
      client: svc,
      context,
      server: "bank",
      dataClass: "other",
      tools: { pay: dataClass, "#resources/read": uris },
    };
    const transport = authorizedMcpTransport(options, () => near);
    await Promise.all([transport.start(), far.start()]);
    const send = (method: string, params: Record<string, unknown>) =>
      transport.send({ jsonrpc: "2.0", id: 1, method, params });
    await send("tools/call", { name: "pay", arguments: { amount: 5 } });
    await send("tools/call", { name: "pay" });
    await send("tools/call", { name: "list" });
    await send("resources/read", { uri: "file:///a/b" });
    expect(classes()).toEqual(["pay.small", "pay.any", "other", "docs.a"]);
    await expect(send("resources/read", { uri: "file:///b" })).rejects.toMatchObject({ code: "unclassified_call" });
    expect(classes()).toHaveLength(4);
  });

  test("and what it throws ends the call before anything is decided", async () => {
    const { svc, context, classes } = await setup();
    const failing = {
      ...read,
      dataClass: (): string => {
        throw new RangeError("no class");
      },
    };
    expect(await errorOf(svc.authorize(context, failing))).toBeInstanceOf(RangeError);
    expect(classes()).toEqual([]);
  });
});

test("the reference's example is decided for the classes that it says", async () => {
  const page = readFileSync(new URL("reference/client.md", new URL("../../../docs/", import.meta.url)), "utf8");
  const [, code = ""] = /<!-- example: payments -->\n```ts\n([\s\S]*?)```/.exec(page) ?? [];
  const { svc, context, classes } = await setup();
  const run = Object.getPrototypeOf(async () => {}).constructor(
    "classifier",
    "authorizedTool",
    "svc",
    "context",
    "send",
    code.replace(/^import .*$/gm, ""),
  );
  await run(classifier, authorizedTool, svc, context, () => "sent");
  expect(classes()).toEqual([...code.matchAll(/decided for (\S+)/g)].map(([, each]) => each));
  expect(classes()).toHaveLength(2);
});
