import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { gzipSync } from "node:zlib";
import type { Stand } from "@svc/test-conformance/stand";
import { waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AgentHeaders, headersOf, openGuarded, responseOf } from "./src/pep/guarded.ts";
import { residentMibOf, watchPeakMib } from "./src/pep/process.ts";

const mib = 2 ** 20;
const gigabyte = 1024 * mib;
const chunk = Buffer.alloc(64 * 1024, "x");

/** This many bytes, generated while they are read. */
function bytes(count: number): Readable {
  let left = count;
  return new Readable({
    read() {
      const piece = left >= chunk.length ? chunk : chunk.subarray(0, left);
      left -= piece.length;
      this.push(piece.length === 0 ? null : piece);
    },
  });
}

/** A megabyte that decodes to a gigabyte: many members, each of zeros only (RFC 1952 section 2.2). */
const bomb = Buffer.concat(Array(64).fill(gzipSync(Buffer.alloc(16 * mib))));

async function lengthOf(message: IncomingMessage): Promise<number> {
  let length = 0;
  for await (const piece of message) length += piece.length;
  return length;
}

let stand: Stand;
let server: Server;
let headers: AgentHeaders;

beforeAll(async () => {
  server = createServer(async (incoming, response) => {
    if (incoming.url === "/any/bomb") response.writeHead(200, { "content-encoding": "gzip" }).end(bomb);
    else if (incoming.method === "POST") response.end(String(await lengthOf(incoming)));
    else await pipeline(bytes(incoming.url === "/any/small" ? 2 ** 20 : gigabyte), response).catch(() => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stand = await openGuarded({ appUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  headers = await headersOf(stand);
});
afterAll(async () => {
  await stand?.stop();
  server?.closeAllConnections();
  server?.close();
});

const urlOf = (path: string) => `${stand.enforcementPoint.url}/app${path}`;

async function download(path: string): Promise<number> {
  const [response] = (await once(request(urlOf(path), { headers }).end(), "response")) as [IncomingMessage];
  return lengthOf(response);
}

async function upload(count: number, length: Record<string, string>): Promise<number> {
  const sent = request(urlOf("/any/upload"), { method: "POST", headers: { ...headers, ...length } });
  const response = responseOf(sent);
  await pipeline(bytes(count), sent);
  return Number((await response).body);
}

/** The additional memory of a large transfer, after a small one. */
async function extraMib(little: () => Promise<number>, much: () => Promise<number>): Promise<number> {
  const { pid } = stand.enforcementPoint;
  for (let time = 0; time < 3; time++) await little().catch(() => undefined);
  const before = residentMibOf(pid);
  const peak = watchPeakMib(pid);
  // On a busy machine the first call may be blocked.
  await waitUntil("a gigabyte to arrive", async () => (await much()) === gigabyte);
  return peak() - before;
}

const mostExtraMib = 64;

const declared = (count: number) => ({ "content-length": String(count) });

test.each<[string, () => Promise<number>, () => Promise<number>]>([
  ["download", () => download("/any/small"), () => download("/any/large")],
  ["upload of a declared length", () => upload(mib, declared(mib)), () => upload(gigabyte, declared(gigabyte))],
  ["chunked upload", () => upload(mib, {}), () => upload(gigabyte, {})],
])("a gigabyte of %s takes less than 64 MiB of memory", async (_name, little, much) => {
  expect(await extraMib(little, much)).toBeLessThan(mostExtraMib);
});

test("case 66: a gzip bomb is relayed undecoded, in less than 64 MiB", async () => {
  await download("/any/small");
  const { pid } = stand.enforcementPoint;
  const before = residentMibOf(pid);
  const peak = watchPeakMib(pid);
  const response = await responseOf(request(urlOf("/any/bomb"), { headers }).end());
  expect([response.status, response.headers["content-encoding"], response.body.equals(bomb)]).toEqual([
    200,
    "gzip",
    true,
  ]);
  expect(peak() - before).toBeLessThan(mostExtraMib);
});
