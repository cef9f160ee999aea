import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { connectUpstreams, readEgressProxies } from "../src/upstreams/connect-upstream.ts";
import { anAuthority, type Identity } from "./support/certificates.ts";
import { startedEgressProxy } from "./support/egress-proxy.ts";
import { startedPep } from "./support/pep.ts";
import { rawConnection } from "./support/raw.ts";
import { startedUpstream } from "./support/upstream.ts";

const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
const text = (name: string) => readFileSync(fixture(name), "utf8");
const routes = [{ methods: ["GET", "POST"], path: "/a", target: "http:app/a", data_class: "docs" }];

async function setup(url: string, settings: Record<string, string>) {
  const running = await startedPep({
    upstreams: [{ name: "app", url, tls: { ca_file: fixture("ca.pem") }, routes }],
    settings,
  });
  running.controlPlane.policies.set("http:app/a", {});
  const headers = await running.session();
  const call = async (init: RequestInit = {}) => {
    const response = await fetch(`${running.url}/app/a`, { ...init, headers: { ...headers, ...init.headers } });
    return { status: response.status, blocked: response.headers.get("x-svc-blocked"), body: await response.text() };
  };
  return { ...running, headers, call };
}

const known = { key: text("server.key"), cert: text("server.pem") };

async function startedTlsUpstream(identity: Identity = known): Promise<string> {
  const server = createServer(identity, async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    response.end(`over TLS: ${request.headers.authorization?.slice(0, 9)} ${body}`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("an upstream behind a proxy, against a double of the control plane", () => {
  test("over plain HTTP is called in absolute form, with the whole request", async () => {
    const proxy = await startedEgressProxy();
    const upstream = await startedUpstream();
    const { port, headers } = await setup(upstream.url, { HTTP_PROXY: proxy.url });
    const lines = [
      "POST /app/a?x=%zz HTTP/1.1",
      `Host: 127.0.0.1:${port}`,
      "Connection: close",
      "X-One: 1",
      "X-One: 2",
    ];
    const own = [`Authorization: ${headers.authorization}`, `X-Svc-Session: ${headers["x-svc-session"]}`];
    const agent = await rawConnection(
      port,
      [...lines, ...own, "Content-Length: 4", "constructor: x", "", "body"].join("\r\n"),
    );
    expect(await agent.closed()).toMatch(/^HTTP\/1\.1 200 OK.*done/s);
    expect(proxy.asked.map(({ line }) => line)).toEqual([`POST ${upstream.url}/a?x=%zz`]);
    const [received] = upstream.received;
    expect(received?.rawHeaders.filter((_, at) => received.rawHeaders[at - 1]?.toLowerCase() === "x-one")).toEqual([
      "1",
      "2",
    ]);
    expect(received?.rawHeaders).toContain("constructor");
    expect(received?.headers.authorization).toMatch(/^Bearer ey/);
    expect(received?.headers.authorization).not.toBe(headers.authorization);
    expect(await received?.body).toBe("body");
  });

  test("over TLS is reached through a tunnel, so that the proxy sees no token", async () => {
    const proxy = await startedEgressProxy();
    const url = await startedTlsUpstream();
    const { call } = await setup(url, { https_proxy: proxy.url });
    expect(await call({ method: "POST", body: "body" })).toMatchObject({
      status: 200,
      body: "over TLS: Bearer ey body",
    });
    expect(proxy.asked.map(({ line }) => line)).toEqual([`CONNECT ${new URL(url).host}`]);
    expect(JSON.stringify(proxy.asked)).not.toContain("Bearer");
    expect(proxy.tunnelled()).not.toContain("Bearer");
  });

  test("is verified through the tunnel as it is without a proxy", async () => {
    const proxy = await startedEgressProxy();
    const untrusted = await (await anAuthority()).issue();
    const url = await startedTlsUpstream(untrusted);
    const { call } = await setup(url, { HTTPS_PROXY: proxy.url });
    expect(await call()).toMatchObject({ status: 502, blocked: null });
    expect(proxy.asked.map(({ line }) => line)).toEqual([`CONNECT ${new URL(url).host}`]);
  });

  test.each(["127.0.0.1", "*", "other.internal, 127.0.0.1"])(
    "is reached directly where NO_PROXY=%s matches",
    async (noProxy) => {
      const proxy = await startedEgressProxy();
      const upstream = await startedUpstream();
      const { call } = await setup(upstream.url, { HTTP_PROXY: proxy.url, NO_PROXY: noProxy });
      expect((await call()).status).toBe(200);
      expect(proxy.asked).toHaveLength(0);
    },
  );

  test("does not receive our headers to the proxy", async () => {
    const proxy = await startedEgressProxy();
    const upstream = await startedUpstream();
    const { call } = await setup(upstream.url, { HTTP_PROXY: proxy.url.replace("//", "//name:word@") });
    expect((await call()).status).toBe(200);
    expect(proxy.asked[0]?.headers["proxy-authorization"]).toBe(`Basic ${btoa("name:word")}`);
    expect(upstream.received[0]?.headers).not.toHaveProperty("proxy-authorization");
  });

  test.each(["wants a password", "refuses"] as const)(
    "is unreachable where the proxy %s: 502, no block, once",
    async (answer) => {
      const proxy = await startedEgressProxy(answer);
      const { call } = await setup(await startedTlsUpstream(), { HTTPS_PROXY: proxy.url });
      expect(await call()).toMatchObject({
        status: 502,
        blocked: null,
        body: expect.stringContaining("upstream_unreachable"),
      });
      expect(proxy.asked).toHaveLength(1);
    },
  );

  test("is unreachable if a proxy for plain HTTP requires a password", async () => {
    const proxy = await startedEgressProxy("wants a password");
    const upstream = await startedUpstream();
    const { call } = await setup(upstream.url, { HTTP_PROXY: proxy.url });
    const came = await call();
    expect(came).toMatchObject({ status: 502, blocked: null });
    expect(came.body).not.toContain("who are you?");
    expect(upstream.received).toHaveLength(0);
  });

  test("is unreachable without a proxy at the address", async () => {
    const { call } = await setup((await startedUpstream()).url, { HTTP_PROXY: "http://127.0.0.1:9" });
    expect(await call()).toMatchObject({ status: 502, blocked: null });
  });

  test("does not keep a call waiting where the proxy is silent", async () => {
    const proxy = await startedEgressProxy("is silent");
    const proxies = { httpProxy: "", httpsProxy: proxy.url, noProxy: "" };
    const connections = connectUpstreams(proxies, 100)({ origin: "https://127.0.0.1:9", tls: {} });
    onTestFinished(() => connections.destroy());
    const ignored = () => {};
    const error = await new Promise<Error>((resolve) => {
      connections.dispatch(
        { method: "GET", path: "/", headers: [] },
        {
          onRequestStart: ignored,
          onResponseStart: ignored,
          onResponseData: ignored,
          onResponseEnd: ignored,
          onResponseError: (_controller, fault) => resolve(fault),
        },
      );
    });
    expect(error).toMatchObject({ code: "UND_ERR_HEADERS_TIMEOUT" });
  });
});

describe("the proxies in the environment", () => {
  const listen = { host: "127.0.0.1", port: 16_001 };
  test("the lower-case spelling takes precedence, and no setting means no proxy", () => {
    expect(readEgressProxies({ HTTP_PROXY: "http://a", http_proxy: "http://b", NO_PROXY: "c" }, listen)).toEqual({
      ok: true,
      proxies: { httpProxy: "http://b", httpsProxy: "", noProxy: "c" },
    });
    expect(readEgressProxies({ NO_PROXY: "c" }, listen)).toEqual({ ok: true, proxies: undefined });
  });

  test.each([
    ["HTTP_PROXY", "socks5://name:secret@a", /^HTTP_PROXY: must be/],
    ["https_proxy", "secret", /^HTTPS_PROXY: must be/],
    ["HTTP_PROXY", "http://localhost:16001", /^HTTP_PROXY: names this enforcement point itself/],
    ["HTTPS_PROXY", "http://127.0.0.1:16001/", /^HTTPS_PROXY: names this enforcement point itself/],
  ])("%s=%s stops the start, and the log does not repeat it", (name, value, fault) => {
    const read = readEgressProxies({ [name]: value }, listen);
    expect(read).toEqual({ ok: false, faults: [expect.stringMatching(fault)] });
    expect(JSON.stringify(read)).not.toContain("secret");
  });

  test.each(["127.0.0.1", "[::1]", "localhost"])("a listener on every address is itself at %s", (name) => {
    const read = readEgressProxies({ HTTP_PROXY: `http://${name}:16001` }, { host: "::", port: 16_001 });
    expect(read).toEqual({ ok: false, faults: [expect.stringContaining("names this enforcement point itself")] });
  });
});
