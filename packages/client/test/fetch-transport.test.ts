import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { TransportFaultCode, TransportRequest } from "@svc/hop";
import nock from "nock";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { fetchTransport } from "../src/fetch-transport.ts";

const base = "http://control.test";
beforeAll(() => {
  if (!nock.isActive()) nock.activate();
  // A request that no test scripted fails, but for those to the real servers of this file.
  nock.disableNetConnect();
  nock.enableNetConnect(/^(?:127\.0\.0\.1|control\.invalid)/);
});
afterEach(() => {
  expect(nock.pendingMocks()).toEqual([]);
  nock.cleanAll();
});
afterAll(() => nock.restore());

/** A real server: nock neither refuses a connection nor breaks off a response that has begun. */
async function serve(listener: RequestListener): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = async () => {
    if (!server.listening) return;
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  onTestFinished(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

const anyRequest: TransportRequest = {
  method: "POST",
  path: "/v1/x?y=1",
  headers: { "x-a": "b" },
  body: "é",
  deadlineMs: 5_000,
  maxResponseBytes: 10,
};

const faultOf = (baseUrl: string, more: Partial<TransportRequest> = {}): Promise<TransportFaultCode> =>
  fetchTransport({ baseUrl })
    .send({ ...anyRequest, ...more })
    .then(
      () => {
        throw new Error("answered");
      },
      (fault) => fault.code,
    );

test("method, path below the base, headers and body are sent; status, headers and body are returned", async () => {
  nock(base, { reqheaders: { "x-a": "b" } })
    .post("/under/v1/x?y=1", "é")
    .reply(418, "é", { "x-got": "it" });
  const answer = await fetchTransport({ baseUrl: `${base}/under/` }).send(anyRequest);
  expect(answer).toMatchObject({ status: 418, body: "é", headers: { "x-got": "it" } });
});

test("a redirect is returned and not followed", async () => {
  nock(base).post("/v1/x?y=1").reply(307, "", { location: "/elsewhere" });
  expect((await fetchTransport({ baseUrl: base }).send(anyRequest)).status).toBe(307);
});

test("a body of the maximal size is read, one byte more is a fault", async () => {
  nock(base).post("/v1/x?y=1").reply(200, "x".repeat(10));
  expect((await fetchTransport({ baseUrl: base }).send(anyRequest)).body).toHaveLength(10);
  nock(base).post("/v1/x?y=1").reply(200, "x".repeat(11));
  expect(await faultOf(base)).toBe("too_large");
});

describe("faults", () => {
  test("no listener: refused", async () => {
    const { url, close } = await serve(() => undefined);
    await close();
    expect(await faultOf(url)).toBe("refused");
  });

  test("no such host: refused", async () => {
    expect(await faultOf("http://control.invalid")).toBe("refused");
  });

  test("a reset before and during the response: unreachable", async () => {
    nock(base)
      .post("/v1/x?y=1")
      .replyWithError(Object.assign(new Error("reset"), { code: "ECONNRESET" }));
    expect(await faultOf(base)).toBe("unreachable");
    const amid = await serve((request, response) => {
      response.writeHead(200, { "content-length": "9" });
      response.write("x", () => request.socket.destroy());
    });
    expect(await faultOf(amid.url)).toBe("unreachable");
  });

  test("silence before and during the response: timeout", async () => {
    nock(base).post("/v1/x?y=1").delay(60_000).reply(200);
    expect(await faultOf(base, { deadlineMs: 50 })).toBe("timeout");
    const amid = await serve((_request, response) => void response.writeHead(200).write("x"));
    expect(await faultOf(amid.url, { deadlineMs: 50 })).toBe("timeout");
  });

  test("interim answers without end: timeout", async () => {
    const { url } = await serve((request, response) => {
      const sending = setInterval(() => response.writeEarlyHints({ link: "</a>" }), 10);
      request.socket.once("close", () => clearInterval(sending));
    });
    expect(await faultOf(url, { deadlineMs: 200 })).toBe("timeout");
  });

  test("an abort: aborted, and the request is ended", async () => {
    const aborting = new AbortController();
    const gone = Promise.withResolvers<void>();
    const { url } = await serve((request) => {
      request.socket.once("close", () => gone.resolve());
      aborting.abort();
    });
    expect(await faultOf(url, { signal: aborting.signal })).toBe("aborted");
    await gone.promise;
  });
});

describe("lines", () => {
  function reading() {
    const seen: string[] = [];
    const arrived = Promise.withResolvers<void>();
    const onLines = (lines: readonly string[]) => {
      seen.push(...lines);
      arrived.resolve();
    };
    const send = (baseUrl: string) =>
      fetchTransport({ baseUrl }).send({ ...anyRequest, maxResponseBytes: 100, onLines });
    return { seen, send, arrived: arrived.promise };
  }

  test("are passed on before the response ends, split characters whole, and one without an end never", async () => {
    const { seen, send, arrived } = reading();
    const { url } = await serve((_request, response) => {
      const cut = Buffer.from("caf\u00e9\nlast");
      response.write("first\nsecond\n");
      void arrived.then(() => {
        response.write(cut.subarray(0, 4));
        setImmediate(() => response.end(cut.subarray(4)));
      });
    });
    expect(await send(url)).toMatchObject({ status: 200, body: "" });
    expect(seen).toEqual(["first", "second", "caf\u00e9"]);
  });

  test("of a response that breaks off were passed on, and the fault follows", async () => {
    const { seen, send, arrived } = reading();
    const { url } = await serve((request, response) => {
      response.write("first\nsec");
      void arrived.then(() => request.socket.resetAndDestroy());
    });
    await expect(send(url)).rejects.toMatchObject({ code: "unreachable" });
    expect(seen).toEqual(["first"]);
  });

  test("of a refusal are its body, and more than the limit are too_large", async () => {
    const { send } = reading();
    const refusing = await serve((_request, response) => response.writeHead(503).end("no\n"));
    expect((await send(refusing.url)).body).toBe("no\n");
    const endless = await serve((_request, response) => response.end("x\n".repeat(51)));
    await expect(send(endless.url)).rejects.toMatchObject({ code: "too_large" });
  });
});

test.each(["ftp://control", "nonsense"])("%s is rejected as base address", (baseUrl) => {
  expect(() => fetchTransport({ baseUrl })).toThrow(TypeError);
});
