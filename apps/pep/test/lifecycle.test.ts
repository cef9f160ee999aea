import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { waitUntil } from "@svc/test-support";
import { decodeUnverifiedIssuer } from "@svc/tokens";
import { describe, expect, test } from "vitest";
import { ConfigurationRefused } from "../src/upstreams/configured-upstreams.ts";
import { startedPep } from "./support/pep.ts";
import { startedUpstream } from "./support/upstream.ts";

const routes = [{ methods: ["GET", "POST"], path: "/a", target: "http:app/a", data_class: "docs" }];

async function setup(
  handle?: Parameters<typeof startedUpstream>[0],
  options: Partial<Parameters<typeof startedPep>[0]> = {},
) {
  const upstream = await startedUpstream(handle);
  const running = await startedPep({ upstreams: [{ name: "app", url: upstream.url, routes }], ...options });
  running.controlPlane.policies.set("http:app/a", {});
  const headers = await running.session();
  return { ...running, upstream, headers };
}

describe("the enforcement point's own endpoints", () => {
  test("respond on both ports, without a request to the control plane", async () => {
    const { url, adminUrl, controlPlane } = await setup();
    for (const base of [url, adminUrl]) {
      expect((await fetch(`${base}/__svc/livez`)).status).toBe(200);
      expect((await fetch(`${base}/__svc/readyz`)).status).toBe(200);
      expect(await (await fetch(`${base}/__svc/metrics`)).text()).toContain("svc_pep_up 1");
      expect((await fetch(`${base}/__svc/other`)).status).toBe(404);
      expect((await fetch(`${base}/__svc/livez`, { method: "POST" })).status).toBe(405);
    }
    expect(controlPlane.asked).toHaveLength(0);
  });

  test("the admin port proxies nothing", async () => {
    const { adminUrl, headers, upstream } = await setup();
    expect((await fetch(`${adminUrl}/app/a`, { headers })).status).toBe(404);
    expect(upstream.received).toHaveLength(0);
  });

  test("under an upstream's host their paths are the upstream's", async () => {
    const upstream = await startedUpstream();
    const own = [{ methods: ["GET"], path: "/__svc/metrics", target: "http:app/a", data_class: "docs" }];
    const { port, session, controlPlane } = await startedPep({
      upstreams: [{ name: "app", url: upstream.url, hosts: ["app.internal"], routes: own }],
    });
    controlPlane.policies.set("http:app/a", {});
    const headers = { ...(await session()), host: "app.internal" };
    const request = httpRequest({ port, host: "127.0.0.1", path: "/__svc/metrics", headers }).end();
    const [response] = await once(request, "response");
    response.resume();
    expect(response.statusCode).toBe(200);
    expect(upstream.received).toHaveLength(1);
  });
});

describe("SIGTERM", () => {
  test("makes it unready at once, while new calls are served and calls in flight finish", async () => {
    let finish = () => {};
    const { pep, url, adminUrl, headers, upstream } = await setup(
      (request, response) => {
        if (request.method === "GET") response.end("quick");
        else finish = () => response.end("slow");
      },
      { settings: { SVC_PEP_GRACE_SECONDS: "4" } },
    );
    const slow = fetch(`${url}/app/a`, { method: "POST", headers, body: "x" });
    await waitUntil("the slow call", () => upstream.received.length === 1);
    const stopped = pep.stop();
    expect((await fetch(`${adminUrl}/__svc/readyz`)).status).toBe(503);
    expect((await fetch(`${adminUrl}/__svc/livez`)).status).toBe(200);
    expect(await (await fetch(`${url}/app/a`, { headers })).text()).toBe("quick");
    await waitUntil(
      "the port to close",
      async () =>
        await fetch(`${url}/__svc/livez`).then(
          () => false,
          () => true,
        ),
    );
    finish();
    expect(await (await slow).text()).toBe("slow");
    await stopped;
  });

  test("aborts unfinished calls when the grace period ends", async () => {
    const { pep, url, headers, upstream } = await setup(() => {}, { settings: { SVC_PEP_GRACE_SECONDS: "1" } });
    const never = fetch(`${url}/app/a`, { headers });
    never.catch(() => {});
    await waitUntil("the call", () => upstream.received.length === 1);
    await pep.stop();
    await expect(never).rejects.toThrow();
    await waitUntil("the upstream's connection to close", () => upstream.sockets.size === 0);
  });
});

test("calls beyond the limit are rejected at once, and event streams do not count", async () => {
  const { url, headers, upstream, metric } = await setup(
    (request, response) => {
      if (request.method === "POST") response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    },
    { limits: { maxCalls: 2 } },
  );
  const gone = new AbortController();
  const call = (method: string) => fetch(`${url}/app/a`, { method, headers, signal: gone.signal });
  for (let stream = 0; stream < 4; stream++) expect((await call("POST")).status).toBe(200);
  const held = [call("GET"), call("GET")];
  await waitUntil("two calls", () => upstream.received.length === 6);
  const shed = await call("GET");
  expect([shed.status, shed.headers.get("retry-after"), shed.headers.get("x-svc-blocked")]).toEqual([
    503,
    "1",
    "other",
  ]);
  expect(await metric('svc_pep_blocks_total{cause="other"}')).toBe(1);
  gone.abort();
  await Promise.allSettled(held);
  await waitUntil("every connection to close", () => upstream.sockets.size === 0);
});

test("a finished call frees its slot, forwarded or blocked", async () => {
  const { url, headers } = await setup((_request, response) => response.end("done"), { limits: { maxCalls: 1 } });
  for (const [path, status] of [
    ["app/a", 200],
    ["none", 404],
    ["app/a", 200],
  ]) {
    const response = await fetch(`${url}/${path}`, { headers });
    expect([response.status, await response.text()]).toEqual([status, expect.any(String)]);
  }
});

test("streams beyond their own limit are closed", async () => {
  const { url, headers, upstream } = await setup(
    (_request, response) => response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders(),
    { limits: { maxStreams: 1 } },
  );
  // Kept: a collected response ends its stream.
  const first = await fetch(`${url}/app/a`, { headers });
  const second = fetch(`${url}/app/a`, { headers });
  await expect(second.then((response) => response.text())).rejects.toThrow();
  await first.body?.cancel();
  await waitUntil("every connection to close", () => upstream.sockets.size === 0);
});

test("an invalid first configuration stops the start", async () => {
  await expect(startedPep({ upstreams: [{ name: "a" }] })).rejects.toThrow(ConfigurationRefused);
});

test("an agent's key signs a proof for each exchange and renewal, and an assertion for each target", async () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { url, headers, upstream, controlPlane } = await setup(undefined, {
    settings: (folder) => ({ SVC_PEP_AGENT_KEY_FILE: join(folder, "key.pem"), SVC_PEP_AGENT_NAME: "planner" }),
    prepare: (folder) => writeFileSync(join(folder, "key.pem"), privateKey.export({ type: "pkcs8", format: "pem" })),
  });
  expect((await fetch(`${url}/app/a`, { headers })).status).toBe(200);
  const exchanged = new URLSearchParams(controlPlane.asked.find(({ path }) => path.endsWith("/exchange"))?.body);
  expect(decodeUnverifiedIssuer(exchanged.get("actor_token") ?? "")).toBe("planner");
  const renewed = JSON.parse(controlPlane.asked.find(({ path }) => path.endsWith("/renew"))?.body ?? "{}");
  expect(decodeUnverifiedIssuer(renewed.actor_token)).toBe("planner");
  expect(decodeUnverifiedIssuer(String(upstream.received[0]?.headers["agent-identity"]))).toBe("planner");
});

describe("a restart", () => {
  const restarted = async (
    settings: (folder: string) => Record<string, string>,
    meanwhile = (_folder: string) => {},
  ) => {
    const upstream = await startedUpstream();
    const upstreams = [{ name: "app", url: upstream.url, routes }];
    const first = await startedPep({ upstreams, settings });
    first.controlPlane.policies.set("http:app/a", {});
    const headers = await first.session();
    expect((await fetch(`${first.url}/app/a`, { headers })).status).toBe(200);
    await first.pep.stop({ isUrgent: true });
    meanwhile(first.folder);
    const second = await startedPep({ upstreams, settings, after: first });
    return { ...second, status: (await fetch(`${second.url}/app/a`, { headers })).status };
  };

  test("with a state folder keeps the agent's token valid; its files are private", async () => {
    const { status, folder } = await restarted((folder) => ({ SVC_PEP_STATE_DIR: join(folder, "state") }));
    expect(status).toBe(200);
    const files = readdirSync(join(folder, "state"));
    expect(files).toHaveLength(1);
    expect(files.map((file) => statSync(join(folder, "state", file)).mode & 0o777)).toEqual([0o600]);
  });

  test("with a damaged state file blocks its session, and the log names the folder as the cause", async () => {
    const { status, logs } = await restarted(
      (folder) => ({ SVC_PEP_STATE_DIR: join(folder, "state") }),
      (folder) => {
        for (const file of readdirSync(join(folder, "state"))) writeFileSync(join(folder, "state", file), "{");
      },
    );
    expect(status).toBe(500);
    expect(logs).toContainEqual(
      expect.objectContaining({ level: "warn", msg: "call blocked: the state folder cannot be read or written" }),
    );
  });

  test("without a state folder rejects the earlier token", async () => {
    const { status, controlPlane } = await restarted(() => ({}));
    expect(status).toBe(401);
    expect(controlPlane.countOf("/v1/token/exchange")).toBe(1);
  });
});
