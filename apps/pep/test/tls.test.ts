import { readFileSync } from "node:fs";
import { createServer, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { startedPep } from "./support/pep.ts";
import { rawConnection } from "./support/raw.ts";

const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
const text = (name: string) => readFileSync(fixture(name), "utf8");
const routes = [{ methods: ["GET"], path: "/a", target: "http:app/a", data_class: "docs" }];

/** An HTTPS upstream for requests and upgrades. */
async function startedTlsUpstream(options: ServerOptions = {}): Promise<string> {
  const server = createServer(
    { key: text("server.key"), cert: text("server.pem"), ...options },
    (_request, response) => {
      response.end("over TLS");
    },
  );
  server.on("upgrade", (_request, socket) => {
    socket.end("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nover TLS");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function setup(url: string, tls: object) {
  const running = await startedPep({ upstreams: [{ name: "app", url, tls, routes }] });
  running.controlPlane.policies.set("http:app/a", {});
  const headers = await running.session();
  const call = async () => {
    const response = await fetch(`${running.url}/app/a`, { headers });
    return `${response.status} ${await response.text()}`;
  };
  const upgrade = async () => {
    const lines = [
      "GET /app/a HTTP/1.1",
      `Host: 127.0.0.1:${running.port}`,
      "Upgrade: websocket",
      "Connection: Upgrade",
    ];
    const own = [`Authorization: ${headers.authorization}`, `X-Svc-Session: ${headers["x-svc-session"]}`, "", ""];
    return (await rawConnection(running.port, [...lines, ...own].join("\r\n"))).closed();
  };
  return { call, upgrade };
}

const ca_file = fixture("ca.pem");
const client = { cert_file: fixture("client.pem"), key_file: fixture("client.key") };

describe("the enforcement point originates TLS", () => {
  test("to an upstream of a known authority, for requests and WebSockets alike", async () => {
    const { call, upgrade } = await setup(await startedTlsUpstream(), { ca_file });
    expect(await call()).toBe("200 over TLS");
    expect(await upgrade()).toMatch(/^HTTP\/1\.1 101 .*over TLS$/s);
  });

  test("never to an upstream of an unknown authority", async () => {
    const { call, upgrade } = await setup(await startedTlsUpstream(), {});
    expect(await call()).toMatch(/^502 .*upstream_unreachable/);
    expect(await upgrade()).toMatch(/^HTTP\/1\.1 502 /);
  });

  test("with a client certificate where the upstream requires one", async () => {
    const url = await startedTlsUpstream({ ca: text("ca.pem"), requestCert: true, rejectUnauthorized: true });
    const { call, upgrade } = await setup(url, { ca_file, ...client });
    expect(await call()).toBe("200 over TLS");
    expect(await upgrade()).toContain("over TLS");
    const without = await setup(url, { ca_file });
    expect(await without.call()).toMatch(/^502 /);
  });
});
