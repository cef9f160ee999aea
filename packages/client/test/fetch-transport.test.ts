import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { TransportFaultCode, TransportRequest } from "@svc/hop";
import { afterEach, describe, expect, test } from "vitest";
import { fetchTransport } from "../src/fetch-transport.ts";

const servers: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const asked: TransportRequest = {
  method: "POST",
  path: "/v1/x?y=1",
  headers: { "x-a": "b" },
  body: "é",
  deadlineMs: 5_000,
  maxResponseBytes: 10,
};

const faultOf = (baseUrl: string, more: Partial<TransportRequest> = {}): Promise<TransportFaultCode> =>
  fetchTransport({ baseUrl })
    .send({ ...asked, ...more })
    .then(
      () => {
        throw new Error("answered");
      },
      (fault) => fault.code,
    );

test("method, path below the base, headers and body are sent; status, headers and body are returned", async () => {
  const base = await serve(async (request, response) => {
    const body = (await request.toArray()).join("");
    response.writeHead(418, { "x-got": `${request.method} ${request.url} ${request.headers["x-a"]}` }).end(body);
  });
  const answer = await fetchTransport({ baseUrl: `${base}/under/` }).send(asked);
  expect(answer).toMatchObject({ status: 418, body: "é", headers: { "x-got": "POST /under/v1/x?y=1 b" } });
});

test("a redirect is returned and not followed", async () => {
  const paths: (string | undefined)[] = [];
  const base = await serve((request, response) => {
    paths.push(request.url);
    response.writeHead(307, { location: "/elsewhere" }).end();
  });
  expect((await fetchTransport({ baseUrl: base }).send(asked)).status).toBe(307);
  expect(paths).toEqual(["/v1/x?y=1"]);
});

test("a body of the maximal size is read, one byte more is a fault", async () => {
  const base = await serve((request, response) => response.end("x".repeat(Number(request.headers["x-a"]))));
  const transport = fetchTransport({ baseUrl: base });
  expect((await transport.send({ ...asked, headers: { "x-a": "10" } })).body).toHaveLength(10);
  expect(await faultOf(base, { headers: { "x-a": "11" } })).toBe("too_large");
});

describe("faults", () => {
  test("no listener: refused", async () => {
    const base = await serve(() => undefined);
    servers[0]?.close();
    await once(servers.splice(0)[0] as ReturnType<typeof createServer>, "close");
    expect(await faultOf(base)).toBe("refused");
  });

  test("no such host: refused", async () => {
    expect(await faultOf("http://control.invalid")).toBe("refused");
  });

  test("a reset before and during the response: unreachable", async () => {
    expect(await faultOf(await serve((request) => request.socket.destroy()))).toBe("unreachable");
    const amid = await serve((request, response) => {
      response.writeHead(200, { "content-length": "9" });
      response.write("x", () => request.socket.destroy());
    });
    expect(await faultOf(amid)).toBe("unreachable");
  });

  test("silence before and during the response: timeout", async () => {
    expect(await faultOf(await serve(() => undefined), { deadlineMs: 50 })).toBe("timeout");
    const amid = await serve((_request, response) => void response.writeHead(200).write("x"));
    expect(await faultOf(amid, { deadlineMs: 50 })).toBe("timeout");
  });

  test("an abort: aborted, and the request is ended", async () => {
    const aborting = new AbortController();
    const gone = Promise.withResolvers<void>();
    const base = await serve((request) => {
      request.socket.once("close", () => gone.resolve());
      aborting.abort();
    });
    expect(await faultOf(base, { signal: aborting.signal })).toBe("aborted");
    await gone.promise;
  });
});

test.each(["ftp://control", "nonsense"])("%s is rejected as base address", (baseUrl) => {
  expect(() => fetchTransport({ baseUrl })).toThrow(TypeError);
});
