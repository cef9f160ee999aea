import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Pool } from "undici";
import { expect, onTestFinished, test } from "vitest";
import { forward, type Relay } from "../src/forward/relay.ts";
import { startedUpstream } from "./support/upstream.ts";

const limits = { upstreamHeadersMs: 10_000, idleBodyMs: 10_000 };
const inserted = "event: message\ndata: inserted\n\n";

/** An upstream's event stream on its way to an agent, one piece at a time. */
async function relayed(type = "text/event-stream") {
  const opened = Promise.withResolvers<ServerResponse>();
  const upstream = await startedUpstream((_request, response) => {
    response.writeHead(200, { "content-type": type }).flushHeaders();
    opened.resolve(response);
  });
  const pool = new Pool(upstream.url);
  const started = Promise.withResolvers<Relay>();
  const pep = createServer((_request, response) => {
    const outgoing = { method: "GET", path: "/", headers: [], body: null };
    started.resolve(forward(pool, outgoing, response, { limits, answerHeaders: (headers) => [...headers] }));
  });
  await new Promise<void>((resolve) => pep.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    pep.closeAllConnections();
    pep.close();
    await pool.destroy();
  });
  const answer = await fetch(`http://127.0.0.1:${(pep.address() as AddressInfo).port}`);
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  /** All that the agent has received, once it ends so. */
  const until = async (end: string) => {
    while (!text.endsWith(end)) text += (await reader?.read())?.value ?? "";
    return text;
  };
  return { relay: await started.promise, upstream: await opened.promise, until };
}

test("an inserted event follows the event that is under way", async () => {
  const { relay, upstream, until } = await relayed();
  upstream.write("data: one\n\ndata: tw");
  await until("data: tw");
  relay.insert(inserted);
  upstream.write("o\n");
  upstream.write("\n");
  expect(await until("inserted\n\n")).toBe(`data: one\n\ndata: two\n\n${inserted}`);
  upstream.write("data: three\n\n");
  expect(await until("three\n\n")).toBe(`data: one\n\ndata: two\n\n${inserted}data: three\n\n`);
});

test("an inserted event goes out at once between two events, and in front of the first", async () => {
  const { relay, upstream, until } = await relayed();
  relay.insert(inserted);
  expect(await until(inserted)).toBe(inserted);
  upstream.write("data: one\n\n");
  await until("one\n\n");
  relay.insert(inserted);
  expect(await until(`one\n\n${inserted}`)).toBe(`${inserted}data: one\n\n${inserted}`);
});

test("no event is inserted into an answer of another type", async () => {
  const { relay, upstream, until } = await relayed("application/x-ndjson");
  relay.insert(inserted);
  upstream.write("{}\n\n");
  expect(await until("{}\n\n")).toBe("{}\n\n");
});
