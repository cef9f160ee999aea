import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { figuresOf, load, type Target } from "./src/measure/load.ts";

const servers: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

/** A server, and a load whose clock moves by 10 ms with each request, so that a busy machine does not end it early. */
async function targetOf(listener: RequestListener) {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    listener(request, response);
  }).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  const loaded = (connections: number, call: Target["call"] = () => ({ path: "/" })) =>
    load({ origin, call }, connections, 0.2, () => requests * 10);
  return { loaded };
}

test("a shed call counts neither as failure nor as response, and is repeated", async () => {
  let requests = 0;
  const { loaded } = await targetOf((_, response) => {
    requests += 1;
    if (requests % 2 === 1) response.writeHead(503, { "retry-after": "0" }).end();
    else response.end("ok");
  });
  const result = await loaded(1);
  expect(result.answered).toBeGreaterThan(0);
  expect(result.shed).toBeGreaterThan(0);
  expect(result.failed).toBe(0);
  expect(result.latenciesMs).toEqual(result.latenciesMs.toSorted((a, b) => a - b));
});

test("a load that mostly fails is no measurement, and the error has the first response", async () => {
  const { loaded } = await targetOf((_, response) => response.writeHead(401).end("no such session"));
  await expect(loaded(2)).rejects.toThrow(/calls failed; .* returned 401: no such session/);
});

test("one failure does not end a measurement, and is reported", async () => {
  let requests = 0;
  const { loaded } = await targetOf((_, response) => {
    requests += 1;
    response.writeHead(requests === 1 ? 401 : 200).end("ok");
  });
  expect(figuresOf(await loaded(1))).toMatchObject({ failed: 1, shedShare: 0 });
});

test("a sequence of requests is one call, which ends at the first failure", async () => {
  const paths: (string | undefined)[] = [];
  const { loaded } = await targetOf(({ url }, response) => {
    paths.push(url);
    response.writeHead(paths.length === 3 ? 401 : 200).end("second");
  });
  const call = () => ({ path: "/first", next: (text: string) => ({ path: `/${text}` }) });
  const { answered, failed } = await loaded(1, call);
  expect(paths.slice(0, 5)).toEqual(["/first", "/second", "/first", "/first", "/second"]);
  expect(failed).toBe(1);
  expect(answered * 2 + failed).toBe(paths.length);
});
