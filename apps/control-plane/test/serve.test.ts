import { afterEach, beforeEach, expect, test } from "vitest";
import { drainTimes } from "../src/start/config.ts";
import { type Serving, serve } from "../src/start/serve.ts";

// How it drains is tested with `listen` in packages/host.

let serving: Serving;

beforeEach(async () => {
  const settings = { host: "127.0.0.1", port: 0, tls: undefined, onBadCertificate: () => {} };
  serving = await serve(settings, async () => async () => new Response("served"));
});
afterEach(() => serving.drain(0));

test("the keep-alive hint is shorter than the notice before a drain, so clients close idle connections first", async () => {
  const { headers } = await fetch(serving.url);
  const [, seconds] = /^timeout=(\d+)$/.exec(headers.get("keep-alive") ?? "") ?? [];
  expect(Number(seconds) * 1_000).toBeLessThanOrEqual(drainTimes.noticeMs);
});

test("while draining, each response closes its connection", async () => {
  serving.closeAfterResponses();
  expect((await fetch(serving.url)).headers.get("connection")).toBe("close");
});
