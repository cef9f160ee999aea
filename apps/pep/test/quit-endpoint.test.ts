import { createServer, request as httpRequest, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { serveOwn } from "../src/http/own-endpoints.ts";

const undo: (() => void)[] = [];
afterEach(() => {
  for (const step of undo.splice(0)) step();
});

/** The endpoint as a caller from `peer` meets it, and whether it was made to quit. */
async function askFrom(peer: string, headers: Record<string, string> = {}) {
  let hasQuit = false;
  const server = createServer((request, response) => {
    Object.defineProperty(request.socket, "remoteAddress", { value: peer });
    const quit = () => {
      hasQuit = true;
    };
    void serveOwn(
      { events: { render: async () => ({ contentType: "", body: "" }) }, isReady: () => true, quit },
      request,
      response,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  undo.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = httpRequest({ port, host: "127.0.0.1", path: "/__svc/quit", method: "POST", headers }, resolve);
    sent.once("error", reject).end();
  });
  answer.resume();
  return { status: answer.statusCode, hasQuit };
}

test.each(["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"])(
  "a program of this machine (%s) can end the process",
  async (peer) => {
    expect(await askFrom(peer)).toEqual({ status: 202, hasQuit: true });
  },
);

test.each(["10.0.0.7", "192.0.2.2", "::ffff:10.0.0.7", "fe80::1", "2001:db8::1", "1270.0.0.1", ""])(
  "a caller from another machine (%j) cannot",
  async (peer) => {
    expect(await askFrom(peer)).toEqual({ status: 403, hasQuit: false });
  },
);
