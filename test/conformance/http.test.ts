import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Child, freePort, requires, spawnApp, waitUntil, writeCertificate } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { openStand, type Stand } from "./pep/stand.ts";
import { httpCases } from "./src/http-cases.ts";
import { connectTo, exchangeRaw, type Listener } from "./src/raw-http.ts";

const { test } = requires("openssl");

const folder = mkdtempSync(join(tmpdir(), "svc-http-"));
let stand: Stand;
let injector: Child;
const listeners = new Map<string, Listener>();

beforeAll(async () => {
  const route = { methods: ["POST"], path: "/send", target: "http:ledger/send", data_class: "finance" };
  const openStandNow = openStand({
    scopes: { wire: { hop_budget: 2, tools: [{ ref: "http:ledger/send", data_classes: ["finance"] }] } },
    upstreams: (url) => [{ name: "ledger", url, routes: [route] }],
  });
  const { certFile, keyFile } = writeCertificate(folder, "injector");
  const port = await freePort();
  injector = spawnApp({
    main: "@svc/injector/main",
    env: {
      HOST: "127.0.0.1",
      PORT: String(port),
      SVC_INJECTOR_TLS_CERT_FILE: certFile,
      SVC_INJECTOR_TLS_KEY_FILE: keyFile,
      SVC_INJECTOR_PEP_IMAGE: "registry.example/svc-pep:1.2.3",
      SVC_CONTROL_PLANE_URL: "https://control-plane:8080",
    },
  });
  stand = await openStandNow;
  await waitUntil("the injector to listen", () => injector.output().includes("listening") || injector.hasExited());
  const portOf = (url: string) => Number(new URL(url).port);
  const plain = { isTls: false, isProxy: false };
  const { controlPlane, enforcementPoint } = stand;
  for (const listener of [
    { ...plain, name: "control plane", port: portOf(controlPlane.url), alive: "/livez", takes: "/v1/token/exchange" },
    {
      ...plain,
      name: "enforcement point",
      port: stand.port,
      alive: "/__svc/livez",
      takes: "/ledger/send",
      isProxy: true,
    },
    {
      ...plain,
      name: "admin port",
      port: portOf(enforcementPoint.adminUrl),
      alive: "/__svc/livez",
      takes: "/__svc/livez",
    },
    { ...plain, name: "injector", port, isTls: true, alive: "/livez", takes: "/mutate" },
  ]) {
    listeners.set(listener.name, listener);
  }
});
afterAll(async () => {
  await Promise.all([stand.stop(), injector.stop()]);
  rmSync(folder, { recursive: true });
});

describe.each(["control plane", "enforcement point", "admin port", "injector"])("the listener of the %s", (name) => {
  const listener = () => listeners.get(name) as Listener;

  test.each(httpCases)("answers $name as RFC 9110 and 9112 say", async ({ bytes, closes, ...expected }) => {
    const { isProxy } = listener();
    const statuses = (isProxy && expected.proxyStatuses) || expected.statuses;
    const closesHere = closes && !(isProxy && expected.proxyStatuses);
    const answered = await exchangeRaw(listener(), bytes(listener()), closesHere);
    expect(statuses, answered.text).toContain(answered.statuses[0]);
    // A second response to one request would be the answer to the next one.
    expect(answered.statuses, answered.text).toHaveLength(1);
    expect(answered.text).toMatch(/\r\ndate: /i);
    if (answered.statuses[0] === 405) expect(answered.text).toMatch(/\r\nallow: /i);
  });

  test("answers a client that said Connection: close and is still sending", async () => {
    const socket = await connectTo(listener());
    let text = "";
    let fault: Error | undefined;
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.on("error", (error) => {
      fault = error;
    });
    let isClosed = false;
    for (const event of ["end", "close"]) {
      socket.once(event, () => {
        isClosed = true;
      });
    }
    const head = [`POST ${listener().takes}x HTTP/1.1`, "Host: listener.test", "Connection: close"];
    socket.write([...head, "Content-Length: 900000", "", "a".repeat(300_000)].join("\r\n"));
    await waitUntil("the answer to arrive", () => text !== "" || isClosed);
    for (let sent = 0; sent < 2; sent += 1) {
      socket.write("a".repeat(300_000));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await waitUntil("the end", () => isClosed);
    socket.destroy();
    expect(fault).toBeUndefined();
    expect(text).toMatch(/^HTTP\/1\.1 4\d\d /);
  });

  test("announces an idle time that ends long before it closes", async () => {
    const { alive } = listener();
    const { text } = await exchangeRaw(listener(), `GET ${alive} HTTP/1.1\r\nHost: listener.test\r\n\r\n`, false);
    expect(Number(/\r\nkeep-alive: timeout=(\d+)/i.exec(text)?.[1])).toBeLessThanOrEqual(60);
  });
});
