import { networkInterfaces } from "node:os";
import { describe, expect, test } from "vitest";
import { createReachable } from "../src/local/reachable.ts";
import { createUnlistedHosts } from "../src/local/unlisted-hosts.ts";
import type { RunningPep } from "./support/pep.ts";
import { startedPep } from "./support/pep.ts";
import { rawConnection } from "./support/raw.ts";
import { startedUpstream } from "./support/upstream.ts";

async function setup(otherHosts: "refuse" | "tunnel", mode: "enforce" | "observe" = "enforce") {
  const [upstream, other] = [await startedUpstream(), await startedUpstream()];
  const routes = [{ methods: ["GET"], path: "/a", target: "http:bank/a", data_class: "docs" }];
  const running = await startedPep({
    upstreams: [{ name: "bank", url: upstream.url, hosts: ["bank.example"], mode, routes }],
    settings: { SVC_PEP_OTHER_HOSTS: otherHosts },
  });
  const { authorization } = await running.session();
  const send = (first: string, host: string, ...more: readonly string[]) =>
    rawConnection(
      running.port,
      [first, `Host: ${host}`, `Authorization: ${authorization}`, "Connection: close", ...more, "", ""].join("\r\n"),
    );
  const connect = (authority: string) => send(`CONNECT ${authority} HTTP/1.1`, authority);
  const hosts = async () => (await fetch(`${running.adminUrl}/__svc/hosts`)).json();
  const otherHost = new URL(other.url).host;
  return { ...running, upstream, other, otherHost, send, connect, hosts };
}

describe("a host that no upstream lists, against a double of the control plane", () => {
  test("is refused, and counted by its name, on the admin port alone", async () => {
    const { connect, send, otherHost, other, hosts, url } = await setup("refuse");
    for (const _time of [1, 2]) {
      expect(await (await connect(otherHost)).closed()).toMatch(/^HTTP\/1\.1 404 .*x-svc-blocked: unresolvable_call/is);
    }
    expect(await (await send("GET http://Other.example:80/a HTTP/1.1", "x")).closed()).toMatch(
      /no upstream lists the host/,
    );
    expect(await (await send("GET /a HTTP/1.1", "transparent.example")).closed()).toMatch(/^HTTP\/1\.1 404 /);
    expect(other.received).toEqual([]);
    expect(await hosts()).toEqual({
      hosts: [
        { host: otherHost, outcome: "refused", count: 2 },
        { host: "other.example", outcome: "refused", count: 1 },
        { host: "transparent.example", outcome: "refused", count: 1 },
      ],
      dropped: 0,
    });
    expect((await fetch(`${url}/__svc/hosts`)).status).toBe(404);
  });

  test("is tunnelled to where the setting says so: bytes pass unread, without a decision", async () => {
    const { connect, otherHost, other, hosts, controlPlane } = await setup("tunnel");
    const agent = await connect(otherHost);
    expect(await agent.until(/\r\n\r\n/)).toBe("HTTP/1.1 200 Connection Established\r\n\r\n");
    agent.socket.write("GET /b HTTP/1.1\r\nHost: anything\r\nConnection: close\r\n\r\n");
    expect(await agent.closed()).toMatch(/HTTP\/1\.1 200 OK.*done/s);
    expect(other.received[0]?.rawHeaders).toEqual(["Host", "anything", "Connection", "close"]);
    expect(controlPlane.asked).toEqual([]);
    expect(await hosts()).toMatchObject({ hosts: [{ host: otherHost, outcome: "tunnelled", count: 1 }] });
  });

  test("gets a plain request as it was sent, but no token of ours", async () => {
    const { send, otherHost, other, hosts, controlPlane } = await setup("tunnel");
    const more = ["Cookie: a=b", "X-Forwarded-For: 1.2.3.4", "X-Svc-Session: s", "Proxy-Authorization: Basic eA=="];
    const agent = await send(`POST http://${otherHost}/x/../y?%zz HTTP/1.1`, otherHost, ...more, "Content-Length: 0");
    expect(await agent.closed()).toMatch(/^HTTP\/1\.1 200 OK.*done/s);
    expect(other.received[0]).toMatchObject({ method: "POST", url: "/x/../y?%zz" });
    expect(other.received[0]?.headers).toEqual({
      ...{ host: otherHost, cookie: "a=b", "x-forwarded-for": "1.2.3.4", via: "1.1 svc-pep" },
      ...{ connection: expect.any(String), "content-length": "0" },
    });
    expect(controlPlane.asked).toEqual([]);
    expect(await hosts()).toMatchObject({ hosts: [{ host: otherHost, outcome: "forwarded", count: 1 }] });
  });

  test("gets the application's own credential, and a body of any length", async () => {
    const { port, otherHost, other } = await setup("tunnel");
    const body = "x".repeat(1024 * 1024);
    const lines = [`PUT http://${otherHost}/up HTTP/1.1`, `Host: ${otherHost}`, "Authorization: Bearer of-the-app"];
    const agent = await rawConnection(
      port,
      [...lines, `Content-Length: ${body.length}`, "Connection: close", "", body].join("\r\n"),
    );
    expect(await agent.closed()).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(other.received[0]?.headers.authorization).toBe("Bearer of-the-app");
    expect(await other.received[0]?.body).toBe(body);
  });

  test("that does not exist or listen is 502", async () => {
    const { connect, send } = await setup("tunnel");
    for (const authority of ["no-such-host.invalid:443", "127.0.0.1:9"]) {
      expect(await (await connect(authority)).closed()).toMatch(/^HTTP\/1\.1 502 .*cannot be reached/s);
      const plain = await send(`GET http://${authority}/ HTTP/1.1`, authority);
      expect(await plain.closed()).toMatch(/^HTTP\/1\.1 502 .*cannot be reached/s);
    }
  });

  test("does not make calls to a listed host pass undecided", async () => {
    const { send, controlPlane } = await setup("tunnel");
    controlPlane.policies.set("http:bank/a", { denyReason: "TARGET_BLOCKED" });
    expect(await (await send("GET http://bank.example/a HTTP/1.1", "bank.example")).closed()).toMatch(
      /^HTTP\/1\.1 403 /,
    );
  });

  test("and is the address of an upstream that observes is reached: observing stops nothing", async () => {
    const { connect, upstream, hosts } = await setup("tunnel", "observe");
    const { host } = new URL(upstream.url);
    await (await connect(host)).until(/^HTTP\/1\.1 200 /);
    expect(await hosts()).toMatchObject({ hosts: [{ host, outcome: "tunnelled" }] });
  });

  test("in origin form is refused all the same: a page could be rebound to it", async () => {
    const { send, otherHost, other } = await setup("tunnel");
    expect(await (await send("GET /a HTTP/1.1", otherHost)).closed()).toMatch(/^HTTP\/1\.1 404 /);
    expect(other.received).toEqual([]);
  });
});

const ownAddress = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

describe("no tunnel leads past a decision", () => {
  type Running = RunningPep & { readonly upstream: { readonly url: string } };
  const portOf = (url: string) => Number(new URL(url).port);
  const places: readonly [string, (running: Running) => number][] = [
    ["the admin port", ({ adminUrl }) => portOf(adminUrl)],
    ["the enforcement point itself", ({ port }) => port],
    ["the control plane", ({ controlPlane }) => portOf(controlPlane.url)],
    ["an upstream", ({ upstream }) => portOf(upstream.url)],
  ];
  const spellings = ["127.0.0.1", "localhost", "127.1", "2130706433", "127.9.9.9", "0.0.0.0", "[::ffff:127.0.0.1]"];
  const all = [...spellings, "[::1]", ...(ownAddress === undefined ? [] : [ownAddress])];

  test.each(places)("to %s, however the address is spelled", async (_name, portAt) => {
    const running = await setup("tunnel");
    const port = portAt(running);
    for (const host of all) {
      const authority = `${host}:${port}`;
      const tunnel = await (await running.connect(authority)).closed();
      // Its own addresses are listener, not elsewhere.
      expect(tunnel, authority).toMatch(/^HTTP\/1\.1 404 .*x-svc-blocked: unresolvable_call/is);
      const plain = await running.send(`GET http://${authority}/__svc/hosts HTTP/1.1`, authority);
      expect(await plain.closed(), authority).toMatch(/^HTTP\/1\.1 404 .*x-svc-blocked: unresolvable_call/is);
    }
    expect(running.upstream).toMatchObject({ received: [] });
  });

  test("to a control plane elsewhere, by its name, its address, or that address as IPv6 spells it", async () => {
    const reachable = createReachable({
      ownPorts: () => [],
      controlPlane: { hostname: "192.0.2.7", port: 443 },
      upstreams: () => [{ hostname: "api.example", port: 443 }],
    });
    const judged = (hostname: string, port = 443) => reachable({ hostname, port });
    for (const host of ["192.0.2.7", "::ffff:192.0.2.7", "::ffff:c000:207"]) expect(await judged(host)).toBe("closed");
    expect(await judged("API.example")).toBe("closed");
    expect(await judged("192.0.2.7", 8443)).toMatchObject({ lookup: expect.any(Function) });
    expect(await judged("192.0.2.8")).toMatchObject({ lookup: expect.any(Function) });
  });
});

test("the list of hosts is bounded, keeps counting what it has, and says how many calls it dropped", () => {
  const list = createUnlistedHosts();
  for (let at = 0; at < 3_000; at++) list.note(`${at}.example`, "refused");
  list.note("0.example", "refused");
  list.note(`${"x".repeat(30_000)}.example`, "refused");
  const { hosts, dropped } = list.read();
  expect([hosts.length, dropped]).toEqual([1_000, 2_001]);
  expect(hosts[0]).toEqual({ host: "0.example", outcome: "refused", count: 2 });
});
