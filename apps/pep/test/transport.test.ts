import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { sharedDeadlines } from "@svc/hop";
import { waitUntil } from "@svc/test-support";
import { Pool } from "undici";
import { describe, expect, onTestFinished, test } from "vitest";
import { undiciTransport } from "../src/decide/undici-transport.ts";

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

async function setup(handle: Handle, path = "") {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`);
  const pool = new Pool(base.origin, { connections: 1 });
  onTestFinished(async () => {
    await pool.destroy();
    server.closeAllConnections();
    server.close();
  });
  const { send } = undiciTransport(pool, base);
  const ask = (more: Partial<Parameters<typeof send>[0]> = {}) =>
    send({ method: "POST", path: "/v1/x", headers: {}, deadlineMs: 60_000, maxResponseBytes: 100, ...more });
  return { ask, server, requests: () => requests };
}

const faultOf = (sending: Promise<unknown>) =>
  sending.then(
    () => undefined,
    (error) => error.code,
  );
const hang: Handle = () => {};

describe("the transport to the control plane", () => {
  test("keeps the base address's path and returns the whole response", async () => {
    const { ask } = await setup((request, response) => {
      response.writeHead(418, { "x-a": ["1", "2"] }).end(`${request.method} ${request.url} caf\u00e9`);
    }, "/plane/");
    const answer = await ask({ method: "GET" });
    expect(answer).toMatchObject({ status: 418, body: "GET /plane/v1/x caf\u00e9" });
  });

  test("a redirect is returned, not followed", async () => {
    const { ask, requests } = await setup((_request, response) => response.writeHead(307, { location: "/" }).end());
    expect((await ask()).status).toBe(307);
    expect(requests()).toBe(1);
  });

  test("a body of exactly the limit is read, and one byte more is too_large", async () => {
    const { ask } = await setup((_request, response) => response.end("x".repeat(100)));
    expect((await ask()).body).toHaveLength(100);
    expect(await faultOf(ask({ maxResponseBytes: 99 }))).toBe("too_large");
  });

  test("interim answers do not extend the deadline, and are no response", async () => {
    const { ask } = await setup((request, response) => {
      const sending = setInterval(() => response.writeEarlyHints({ link: "</a>" }), 10);
      request.socket.once("close", () => clearInterval(sending));
    });
    expect(await faultOf(ask({ deadlineMs: 200 }))).toBe("timeout");
  });

  test("a response that arrived while the process was busy is not a timeout", async () => {
    const answers = new Int32Array(new SharedArrayBuffer(4));
    const program = `const { parentPort, workerData: answers } = require("node:worker_threads");
      const count = () => { Atomics.add(answers, 0, 1); Atomics.notify(answers, 0); };
      require("node:http").createServer((_request, response) => response.end("here", count))
        .listen(0, "127.0.0.1", function () { parentPort.postMessage(this.address().port); });`;
    const elsewhere = new Worker(program, { eval: true, workerData: answers });
    const [port] = await once(elsewhere, "message");
    const base = new URL(`http://127.0.0.1:${port}`);
    const pool = new Pool(base.origin);
    onTestFinished(async () => {
      await pool.destroy();
      await elsewhere.terminate();
    });
    // Passes while this thread is blocked alone.
    let nowMs = 0;
    const deadlines = sharedDeadlines(() => nowMs);
    const { send } = undiciTransport(pool, base, deadlines);
    const ask = () => send({ method: "GET", path: "/", headers: {}, deadlineMs: 50, maxResponseBytes: 100 });
    await ask();
    // Its connection is free again.
    await turn();
    const answer = ask();
    // The request is written.
    await turn();
    // Blocks this thread until the second response is written, and past the deadline and the timer that looks for it.
    for (let written = 0; written < 2; written = Atomics.load(answers, 0)) Atomics.wait(answers, 0, written);
    const end = performance.now() + 100;
    while (performance.now() < end);
    nowMs = 100;
    expect((await answer).body).toBe("here");
  });

  test("a closed port is refused: nothing was sent", async () => {
    const { ask, server } = await setup(hang);
    server.close();
    expect(await faultOf(ask())).toBe("refused");
  });

  test("a connection closed before the response is unreachable: the request may have been processed", async () => {
    const { ask } = await setup((request) => request.socket.destroy());
    expect(await faultOf(ask())).toBe("unreachable");
  });

  test("a deadline covers the whole response", async () => {
    const { ask } = await setup((_request, response) => response.writeHead(200).write("half"));
    expect(await faultOf(ask({ deadlineMs: 50 }))).toBe("timeout");
  });

  test("an abort ends it at once, before or during the request", async () => {
    const { ask, requests } = await setup(hang);
    expect(await faultOf(ask({ signal: AbortSignal.abort() }))).toBe("aborted");
    expect(requests()).toBe(0);
    const gone = new AbortController();
    const fault = faultOf(ask({ signal: gone.signal }));
    await waitUntil("the request", () => requests() === 1);
    gone.abort();
    expect(await fault).toBe("aborted");
  });

  test("a request aborted while it waits for a connection is never sent", async () => {
    const held = Promise.withResolvers<void>();
    const { ask, requests } = await setup((_request, response) => void held.promise.then(() => response.end("late")));
    const first = ask();
    expect(await faultOf(ask({ deadlineMs: 20 }))).toBe("timeout");
    held.resolve();
    expect((await first).body).toBe("late");
    expect((await ask()).body).toBe("late");
    expect(requests()).toBe(2);
  });

  test("lines are passed on before the response ends, split characters whole, and one without an end never", async () => {
    const seen: string[] = [];
    const { ask } = await setup((_request, response) => {
      const cut = Buffer.from("caf\u00e9\nlast");
      response.write("first\nsecond\n");
      void waitUntil("two lines", () => seen.length === 2).then(() => {
        response.write(cut.subarray(0, 4));
        setImmediate(() => response.end(cut.subarray(4)));
      });
    });
    const answer = await ask({ onLines: (lines) => seen.push(...lines) });
    expect([seen, answer.status, answer.body]).toEqual([["first", "second", "caf\u00e9"], 200, ""]);
  });

  test("lines of a response that breaks off were passed on, and the fault follows", async () => {
    const seen: string[] = [];
    const { ask } = await setup((request, response) => {
      response.write("first\nsec");
      void waitUntil("a line", () => seen.length === 1).then(() => request.socket.resetAndDestroy());
    });
    expect(await faultOf(ask({ onLines: (lines) => seen.push(...lines) }))).toBe("unreachable");
    expect(seen).toEqual(["first"]);
  });

  test("a refusal of lines is its body, and more lines than the limit are too_large", async () => {
    const seen: string[] = [];
    const onLines = (lines: readonly string[]) => seen.push(...lines);
    const refusing = await setup((_request, response) => response.writeHead(503).end("no\n"));
    expect((await refusing.ask({ onLines })).body).toBe("no\n");
    const endless = await setup((_request, response) => response.end("x\n".repeat(51)));
    expect(await faultOf(endless.ask({ onLines }))).toBe("too_large");
    expect(seen).toEqual([]);
  });
});
