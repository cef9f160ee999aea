import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { waitUntil } from "@svc/test-support";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createApp } from "../src/routes/app.ts";
import { type Serving, serve } from "../src/start/serve.ts";
import { startPlane, tokens } from "./support.ts";

let plane: Awaited<ReturnType<typeof startPlane>>;
let serving: Serving;
/** Waits for slow clients longer than a busy machine makes one slow. */
let patient: Serving;
const sockets: Socket[] = [];
beforeAll(async () => {
  plane = await startPlane();
  const settings = { host: "127.0.0.1", port: 0, tls: undefined, onBadCertificate: () => {} };
  const app = createApp(plane.deps);
  const start = (patienceMs: number) => serve({ ...settings, patienceMs }, async () => (request) => app.fetch(request));
  [serving, patient] = [await start(400), await start(60_000)];
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(async () => {
  await Promise.all([serving.drain(0), patient.drain(0)]);
  await plane.stop();
});

/** A connection, what came over it, and how it ended. */
async function connection({ url } = serving) {
  const socket = connect({ port: Number(new URL(url).port), host: "127.0.0.1", allowHalfOpen: true });
  sockets.push(socket);
  const seen = { text: "", isEnded: false, fault: undefined as string | undefined };
  socket.setEncoding("utf8");
  socket.on("data", (chunk) => {
    seen.text += chunk;
  });
  socket.on("end", () => {
    seen.isEnded = true;
  });
  socket.on("error", (error: NodeJS.ErrnoException) => {
    seen.fault = error.code;
  });
  return {
    write: (text: string | Uint8Array) => socket.write(text),
    seen,
    ended: () => waitUntil("the server to end", async () => seen.isEnded || seen.fault !== undefined),
    answered: () => waitUntil("an answer", async () => seen.text.includes("\r\n\r\n")),
  };
}

/** Status and error code of the only response in this text. */
function refusal(text: string) {
  const [head = "", body = ""] = text.split("\r\n\r\n", 2);
  return { status: Number(head.split(" ")[1]), code: JSON.parse(body).error.code as string };
}

const head = (line: string, ...headers: string[]) => [line, "Host: plane.test", ...headers, "", ""].join("\r\n");
const asAdmin = `Authorization: Bearer ${tokens.admin}`;
const json = "Content-Type: application/json";
const post = (...headers: string[]) => head("POST /v1/consent HTTP/1.1", asAdmin, json, ...headers);

describe("a request that the HTTP parser rejects gets the error envelope, and its connection is closed", () => {
  test.each<[string, string, number, string]>([
    ["a request line of 20 kB", head(`GET /v1/manifests/${"x".repeat(20_000)} HTTP/1.1`), 431, "invalid_request"],
    ["headers of 20 kB", head("GET /livez HTTP/1.1", `X-Long: ${"x".repeat(20_000)}`), 431, "invalid_request"],
    [
      "two thousand headers",
      head("GET /livez HTTP/1.1", ...Array.from({ length: 2_000 }, (_, n) => `X-${n}: some value`)),
      431,
      "invalid_request",
    ],
    ["a malformed request line", "hello\r\n\r\n", 400, "invalid_request"],
    ["a header without a colon", head("GET /livez HTTP/1.1", "nonsense"), 400, "invalid_request"],
    ["a NUL in a header", head("GET /livez HTTP/1.1", "X-Nul: a\0b"), 400, "invalid_request"],
    ["a folded header", head("GET /livez HTTP/1.1", "X-Folded: a\r\n b"), 400, "invalid_request"],
    ["two different lengths", `${post("Content-Length: 2", "Content-Length: 3")}{}`, 400, "invalid_request"],
    ["a malformed length", `${post("Content-Length: +2")}{}`, 400, "invalid_request"],
    [
      "a length and chunks",
      `${post("Content-Length: 2", "Transfer-Encoding: chunked")}0\r\n\r\n`,
      400,
      "invalid_request",
    ],
    ["a chunk without a size", `${post("Transfer-Encoding: chunked")}zz\r\n{}\r\n0\r\n\r\n`, 400, "invalid_request"],
    [
      "chunk extensions of 20 kB",
      `${post("Transfer-Encoding: chunked")}2;x=${"y".repeat(20_000)}\r\n{}\r\n0\r\n\r\n`,
      413,
      "payload_too_large",
    ],
  ])("%s", async (_name, sent, status, code) => {
    const { write, seen, ended } = await connection();
    write(sent);
    await ended();
    expect(seen.fault).toBeUndefined();
    expect(seen.text).toMatch(/connection: close/i);
    expect(seen.text).toMatch(/cache-control: no-store/i);
    expect(refusal(seen.text)).toEqual({ status, code });
  });

  test.each([
    ["no host", "GET /livez HTTP/1.1\r\n\r\n"],
    ["an invalid host", "GET /livez HTTP/1.1\r\nHost: a/b?c\r\n\r\n"],
  ])("a request with %s is rejected", async (_name, sent) => {
    const { write, seen, answered } = await connection();
    write(sent);
    await answered();
    expect(refusal(seen.text)).toEqual({ status: 400, code: "invalid_request" });
  });

  test.each([
    ["headers sent byte by byte", "GET /livez HTTP/1.1\r\nX-Slow: "],
    ["a body that stops", `${post("Content-Length: 100")}{`],
    ["chunks that stop", `${post("Transfer-Encoding: chunked")}5\r\n{    \r\n`],
  ])("%s: 408 after a time limit", async (_name, sent) => {
    const { write, seen, ended } = await connection();
    write(sent);
    await ended();
    expect(seen.fault).toBeUndefined();
    expect(refusal(seen.text)).toEqual({ status: 408, code: "invalid_request" });
  });

  test("bytes after a served request are rejected alone", async () => {
    const { write, seen, ended } = await connection();
    // The body is longer than its Content-Length: the rest is not a request.
    write(`${head("GET /livez HTTP/1.1")}${post("Content-Length: 2")}{}{"scope":"x"}`);
    await ended();
    const answers = seen.text.split(/(?=HTTP\/1\.1 )/);
    expect(answers.map((text) => Number(text.split(" ")[1]))).toEqual([200, 400]);
  });
});

describe("a body over the cap", () => {
  const tooLarge = { status: 413, code: "payload_too_large" };
  const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;

  test("sent whole before it is read gets a response, and no reset before it", async () => {
    const { write, seen, answered } = await connection(patient);
    write([post("Transfer-Encoding: chunked"), chunk.repeat(40), "0\r\n\r\n"].join(""));
    await answered();
    expect(refusal(seen.text)).toEqual(tooLarge);
    expect(seen.fault).toBeUndefined();
  });

  test.each([
    ["chunked", "Transfer-Encoding: chunked", chunk],
    ["of a declared length", "Content-Length: 900000000", "x".repeat(65_536)],
  ])(
    "%s, of a client that never stops, gets a response before its connection is closed",
    async (_name, framing, more) => {
      const { write, seen, answered } = await connection(patient);
      write(post(framing));
      const sending = setInterval(() => write(more), 2);
      try {
        await answered();
        expect(refusal(seen.text)).toEqual(tooLarge);
        await waitUntil("the connection to be closed", async () => seen.isEnded || seen.fault !== undefined);
      } finally {
        clearInterval(sending);
      }
    },
  );
});

describe("a compressed body", () => {
  const compressed = (path: string, type: string, coding: string) =>
    plane.send(path, {
      body: gzipSync('{"scope":"x","user_sub":"ada"}'),
      headers: { "content-type": type, "content-encoding": coding },
    });

  test.each(["gzip", "br", "deflate", "identity, gzip", "x-unknown"])(
    "with coding %s is 415 with Accept-Encoding",
    async (coding) => {
      const answer = await compressed("/v1/consent", "application/json", coding);
      expect(answer).toMatchObject({ status: 415, json: { error: { code: "unsupported_media_type" } } });
      expect(answer.headers.get("accept-encoding")).toBe("identity");
    },
  );

  test("is invalid_request at the exchange", async () => {
    const answer = await compressed("/v1/token/exchange", "application/x-www-form-urlencoded", "gzip");
    expect(answer).toMatchObject({ status: 400, json: { error: "invalid_request" } });
  });

  test("with coding identity is read", async () => {
    const body = { scope: "none-such", user_sub: "ada" };
    const answer = await plane.send("/v1/consent", { body, headers: { "content-encoding": "identity" } });
    expect(answer.status).toBe(404);
  });
});
