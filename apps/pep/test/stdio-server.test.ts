import { waitUntil } from "@svc/test-support";
import { describe, expect, test } from "vitest";
import { callOf, initializing, isRunning, openBridge, scripted } from "./support/stdio-bridge.ts";

describe("a process belongs to one session", () => {
  test("two sessions get two processes, and neither sees the other's state", async () => {
    const bridge = openBridge();
    const [alice, bob] = [await bridge.initialize("alice"), await bridge.initialize("bob")];
    await alice.call("count").answered;
    const [second, first] = [await alice.call("count").answered, await bob.call("count").answered];
    expect([second.message.result.calls, first.message.result.calls]).toEqual([2, 1]);
    expect(second.message.result.pid).not.toBe(first.message.result.pid);
  });

  test("an MCP session is unknown to every other session", async () => {
    const bridge = openBridge();
    const alice = await bridge.initialize("alice");
    const methods = ["POST", "GET", "DELETE"];
    const asked = methods.map((method) => bridge.ask(method, bridge.of("bob", alice.id), callOf(1, "count")).answered);
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([404, 404, 404]);
    expect((await alice.call("count").answered).message.result.calls).toBe(1);
  });

  test("a call without a verified session reaches no process", async () => {
    const bridge = openBridge();
    const { status } = await bridge.ask("POST", {}, initializing).answered;
    expect(status).toBe(403);
    await bridge.connection.destroy();
    expect(bridge.log()).toBe("");
  });

  test("two clients of a session that initialize get a process each", async () => {
    const bridge = openBridge();
    const [one, other] = [await bridge.initialize("alice"), await bridge.initialize("alice")];
    const pids = await Promise.all(
      [one, other].map(async (each) => (await each.call("count").answered).message.result.pid),
    );
    expect(new Set(pids).size).toBe(2);
  });
});

describe("a process gets a clean environment", () => {
  test("none of our settings, and what the file says beside the usual", async () => {
    process.env.SVC_ADMIN_TOKEN = "our-admin-token";
    process.env.NPM_TOKEN = "a-token";
    process.env.SSL_CERT_FILE ??= "/etc/ssl/certs/ca-certificates.crt";
    const bridge = openBridge({ env: { ROOT: "/data" }, cwd: "/", command: scripted("stateful", "$HOME; ls") });
    const { message } = await (await bridge.initialize("alice")).call("environment").answered;
    delete process.env.SVC_ADMIN_TOKEN;
    delete process.env.NPM_TOKEN;
    const { env, cwd, args } = message.result;
    const { PATH, SSL_CERT_FILE } = process.env;
    expect(env).toMatchObject({ ROOT: "/data", PATH, SSL_CERT_FILE });
    expect(Object.keys(env).filter((name) => /SVC|TOKEN|NODE_(?!EXTRA_CA_CERTS$)|VITEST/.test(name))).toEqual([]);
    expect(cwd).toBe("/");
    // No shell reads an argument.
    expect(args).toEqual(["$HOME; ls"]);
  });
});

describe("messages pass as the bytes that were written", () => {
  test.each([
    [
      "numbers keep their spelling",
      '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"received","arguments":{"a":1.0,"b":9223372036854775807,"c":-0}}}',
    ],
    [
      "escapes stay",
      '{"jsonrpc":"2.0","id":7,"method":"tools\\/call","params":{"name":"received","arguments":{"a":"\\u00e9\\n","b":"é"}}}',
    ],
    [
      "line ends between tokens become spaces",
      '{"jsonrpc":"2.0",\n"id":7,\r\n"method":"tools/call","params":{"name":"received",\t"arguments":{}}}\n',
    ],
  ])("%s", async (_name, body) => {
    const { post } = await openBridge().initialize("alice");
    const { message } = await post(body).answered;
    expect(message.result.line).toBe(body.replaceAll(/[\r\n]/g, " "));
  });

  test.each([
    ["a batch", "[]"],
    ["a line end within a string", '{"jsonrpc":"2.0","id":7,"method":"a\nb"}'],
    ["two messages", '{"jsonrpc":"2.0","method":"a"}\n{"jsonrpc":"2.0","method":"b"}'],
    ["bytes that are not UTF-8", Buffer.from([0x7b, 0xff, 0x7d])],
    ["an id that loses digits", '{"jsonrpc":"2.0","id":9223372036854775807,"method":"ping"}'],
  ])("%s is refused", async (_name, body) => {
    const { post } = await openBridge().initialize("alice");
    expect(await post(body).answered).toMatchObject({ status: 400, message: { error: { code: -32700 } } });
  });
});

describe("what a server does with its output", () => {
  test("lines that are no messages are skipped, and counted without their content", async () => {
    const bridge = openBridge();
    const { call } = await bridge.initialize("alice");
    expect((await call("noise").answered).message.result).toEqual({ noisy: true });
    await bridge.connection.destroy();
    expect(bridge.log()).toMatch(
      /1 started, .*27 bytes on standard error, 4 lines that are no messages \(\d+ bytes\) skipped/,
    );
    expect(bridge.log()).not.toMatch(/Listening|secret/);
  });

  test("an answer of nearly 10 MiB passes, and a longer line ends the process and its calls at once", async () => {
    const { call } = await openBridge().initialize("alice");
    const large = await call("large", { bytes: 10_000_000 }).answered;
    expect(large.message.result.text).toHaveLength(10_000_000);
    const [silent, long] = [call("silent"), call("long", { bytes: 11_000_000 })];
    for (const { answered } of [silent, long]) {
      expect(await answered).toMatchObject({
        status: 502,
        message: { error: { message: expect.stringMatching(/line over 10 MiB/) } },
      });
    }
  });

  test("a message that is cut anywhere, and a character within it, is put together", async () => {
    const { post } = await openBridge().initialize("alice");
    const { message } = await post(callOf(1, "large", { bytes: 300_000, text: "世界" })).answered;
    expect(message.result.text).toHaveLength(300_000);
  });
});

describe("a call that ends early", () => {
  test("a client that disconnects cancels its call at the server", async () => {
    const { call } = await openBridge().initialize("alice");
    const silent = call("silent");
    await waitUntil("the call to be sent", async () => (await call("count").answered).message.result.calls > 1);
    silent.gone();
    await expect(silent.answered).rejects.toThrow("gone");
    expect((await call("cancelled").answered).message.result.cancelled).toEqual([2]);
  });

  test("a call that its client cancels by a notification ends without an answer", async () => {
    const { call, post } = await openBridge().initialize("alice");
    const silent = call("silent");
    await waitUntil("the call to be sent", async () => (await call("count").answered).message.result.calls > 1);
    const note = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } };
    expect(await post(JSON.stringify(note)).answered).toMatchObject({ status: 202, text: "" });
    expect(await silent.answered).toMatchObject({ status: 200, text: "" });
  });

  test("a crash fails every call under way at once, in the protocol's form, and names no content", async () => {
    const bridge = openBridge();
    const { call } = await bridge.initialize("alice");
    const both = await Promise.all([call("silent").answered, call("crash").answered]);
    const error = {
      code: -32603,
      message: "the server of upstream files ended (exit code 3)",
      data: { code: "upstream_unreachable" },
    };
    expect(both.map(({ status, message }) => [status, message.id, message.error])).toEqual([
      [502, 2, error],
      [502, 3, error],
    ]);
    // The client begins anew.
    expect((await call("count").answered).status).toBe(404);
    expect((await (await bridge.initialize("alice")).call("count").answered).message.result.calls).toBe(1);
  });
});

describe("a server's own requests", () => {
  test("reach the stream of a call where no other is open, and the answer reaches the server", async () => {
    const { call, post } = await openBridge().initialize("alice");
    const asking = call("ask");
    await waitUntil("the request", () => asking.text().includes("roots/list"));
    const answer = '{"jsonrpc":"2.0","id":"asked","result":{"roots":[ 1.0 ]}}';
    expect((await post(answer).answered).status).toBe(202);
    expect((await call("answers").answered).message.result.answers).toEqual([answer]);
  });

  test("reach the client's own stream where it is open; a second one is refused", async () => {
    const { call, listen } = await openBridge().initialize("alice");
    const stream = listen();
    await waitUntil("the stream", async () => (await listen().answered).status === 409);
    call("ask");
    await waitUntil("the request", () => stream.text().includes("roots/list"));
  });

  test("progress reaches the stream of its call, and no other", async () => {
    const { call, post } = await openBridge().initialize("alice");
    const silent = call("silent");
    const [one, other] = await Promise.all([
      post(callOf(11, "progress", {}, { progressToken: "a" })).answered,
      post(callOf(12, "progress", {}, { progressToken: "b" })).answered,
    ]);
    expect([one, other].map(({ text }) => text.match(/"progressToken":"(.)"/g))).toEqual([
      Array(2).fill('"progressToken":"a"'),
      Array(2).fill('"progressToken":"b"'),
    ]);
    expect(silent.text()).toBe("");
  });
});

test("SIGTERM, then SIGKILL ends a server that ignores its end, and what it started", async () => {
  const bridge = openBridge({ command: scripted("stateful", "stubborn") });
  const { call } = await bridge.initialize("alice");
  const [{ message: own }, { message: child }] = [await call("count").answered, await call("spawn").answered];
  expect([own.result.pid, child.result.pid].map(isRunning)).toEqual([true, true]);
  await bridge.connection.destroy();
  await waitUntil("both to end", () => ![own.result.pid, child.result.pid].some(isRunning));
});
