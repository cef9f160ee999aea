import { waitUntil } from "@svc/test-support";
import { pushText } from "@svc/test-support/push-text";
import { describe, expect, test } from "vitest";
import type { Limits } from "../src/limits.ts";
import { enforcementToken } from "./support/control-plane-routes.ts";
import { type PepSetup, startedPep } from "./support/pep.ts";
import { rawConnection } from "./support/raw.ts";
import { startedUpstream } from "./support/upstream.ts";

async function setup(limits: Partial<Limits> = {}, settings: PepSetup["settings"] = {}) {
  const upstream = await startedUpstream();
  const open = { connect: true, target: "http:site/tunnel", data_class: "docs" };
  const running = await startedPep({
    upstreams: [
      { name: "site", url: upstream.url, hosts: ["site.internal"], routes: [open] },
      { name: "shut", url: upstream.url, hosts: ["shut.internal"], routes: [] },
    ],
    limits,
    settings,
  });
  running.controlPlane.policies.set("http:site/tunnel", {});
  const { authorization, "x-svc-session": sessionId } = await running.session();
  const connect = (authority: string) =>
    rawConnection(
      running.port,
      [
        `CONNECT ${authority} HTTP/1.1`,
        `Host: ${authority}`,
        `Authorization: ${authorization}`,
        `X-Svc-Session: ${sessionId}`,
        "",
        "",
      ].join("\r\n"),
    );
  return { ...running, upstream, sessionId, connect };
}

describe("CONNECT, against a double of the control plane", () => {
  test("opens a tunnel to a host whose route declares it, after a decision", async () => {
    const { connect, upstream, controlPlane, metric } = await setup();
    const agent = await connect("site.internal:443");
    expect(await agent.until(/\r\n\r\n/)).toBe("HTTP/1.1 200 Connection Established\r\n\r\n");
    agent.socket.write("GET /inside HTTP/1.1\r\nHost: site.internal\r\n\r\n");
    await agent.until(/done/);
    expect(upstream.received[0]).toMatchObject({ url: "/inside", headers: { host: "site.internal" } });
    expect(controlPlane.countOf("/v1/token/exchange")).toBe(1);
    expect(await metric('svc_pep_calls_total{outcome="allowed"}')).toBe(1);
  });

  test.each(["shut.internal:443", "evil.example:443", "127.0.0.1:80"])("%s is unresolvable_call", async (authority) => {
    const { connect, upstream, controlPlane } = await setup();
    const agent = await connect(authority);
    expect(await agent.closed()).toMatch(/^HTTP\/1\.1 404 .*x-svc-blocked: unresolvable_call/is);
    expect(upstream.sockets.size).toBe(0);
    expect(controlPlane.asked).toHaveLength(0);
  });

  test("an authority with a user is 400", async () => {
    const { connect, upstream, controlPlane } = await setup();
    const agent = await connect("site.internal@evil.example:443");
    expect(await agent.closed()).toMatch(/^HTTP\/1\.1 400 /);
    expect(upstream.sockets.size).toBe(0);
    expect(controlPlane.asked).toHaveLength(0);
  });

  test("a deny opens no tunnel", async () => {
    const { connect, upstream, controlPlane } = await setup();
    controlPlane.policies.set("http:site/tunnel", { denyReason: "TARGET_BLOCKED" });
    expect(await (await connect("site.internal:443")).closed()).toMatch(/^HTTP\/1\.1 403 .*TARGET_BLOCKED/s);
    expect(upstream.sockets.size).toBe(0);
  });

  test("an open tunnel is decided again and closed on a deny", async () => {
    const { connect, upstream, controlPlane } = await setup({ redecideMs: 100 });
    const agent = await connect("site.internal:443");
    await agent.until(/200/);
    controlPlane.policies.set("http:site/tunnel", { denyReason: "TARGET_BLOCKED" });
    await agent.closed();
    await waitUntil("the upstream's connection to close", () => upstream.sockets.size === 0);
  });

  test("an open tunnel is decided again at a pushed act, and closed on a deny", async () => {
    const settings = { SVC_PEP_ENFORCEMENT_TOKEN: enforcementToken };
    const { connect, upstream, controlPlane, sessionId } = await setup({ redecideMs: 3_600_000 }, settings);
    await waitUntil("the push to be followed", () => controlPlane.pushed.length === 1);
    const agent = await connect("site.internal:443");
    await agent.until(/200/);
    controlPlane.policies.set("http:site/tunnel", { denyReason: "SESSION_REVOKED" });
    controlPlane.push(pushText("session_revoked", { session_id: sessionId }));
    await waitUntil("the tunnel to close", () => agent.isClosed());
    await waitUntil("the upstream's connection to close", () => upstream.sockets.size === 0);
  });

  test("a tunnel closes on both sides when either ends", async () => {
    const { connect, upstream } = await setup();
    const first = await connect("site.internal:443");
    await first.until(/200/);
    first.socket.destroy();
    await waitUntil("the upstream's connection to close", () => upstream.sockets.size === 0);
    const second = await connect("site.internal:443");
    await second.until(/200/);
    await waitUntil("the upstream's connection", () => upstream.sockets.size === 1);
    for (const socket of upstream.sockets) socket.destroy();
    await second.closed();
  });

  test("an upstream that is down is 502", async () => {
    const { connect, upstream } = await setup();
    upstream.server.close();
    expect(await (await connect("site.internal:443")).closed()).toMatch(/^HTTP\/1\.1 502 /);
  });
});
