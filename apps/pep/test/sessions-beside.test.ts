import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { enforcementToken, entryAgent } from "./support/control-plane-routes.ts";
import { startedPep } from "./support/pep.ts";
import { startedUpstream } from "./support/upstream.ts";

const pay = "http:bank/pay";
const refund = "http:bank/refund";
const routes = [
  { methods: ["POST"], path: "/pay", target: pay, data_class: "payments" },
  { methods: ["POST"], path: "/refund", target: refund, data_class: "payments" },
];
const denied = {
  denyReason: "SCOPE_NOT_CONSENTED",
  consentableScopes: ["payments-approval"],
  consentUrl: "https://authz.example/consent?ask=sealed",
};
const consentsPath = "/v1/session/consents";

async function started(mode = "enforce", settings: Record<string, string> = {}) {
  const upstream = await startedUpstream();
  const running = await startedPep({
    upstreams: [{ name: "bank", url: upstream.url, routes, mode }],
    settings: { SVC_PEP_ENFORCEMENT_TOKEN: enforcementToken, ...settings },
  });
  const { controlPlane } = running;
  controlPlane.policies.set(entryAgent, {});
  controlPlane.policies.set(pay, denied);
  const headers = await running.session();
  const call = async (more: Record<string, string> = {}, path = "pay") => {
    const response = await fetch(`${running.url}/bank/${path}`, {
      method: "POST",
      headers: { ...headers, ...more },
      body: "{}",
    });
    const body = response.status === 200 ? {} : ((await response.json()) as { details?: object; error?: object });
    return { status: response.status, ...body };
  };
  /** A person consents to one more session; `policy` is what it gives the call. */
  const consent = async (policy: object = {}, more: { scope?: string; expiresAt?: string } = {}) => {
    const sessionId = randomUUID();
    await controlPlane.consent({ sessionId });
    controlPlane.sessionPolicies.set(`${sessionId} ${pay}`, policy);
    controlPlane.beside.unshift({ sessionId, scope: "payments-approval", ...more });
    return sessionId;
  };
  const sessionsOf = () => upstream.received.map(({ headers: sent }) => sent["x-svc-session"]);
  const decidedIn = (called = pay) =>
    controlPlane
      .decisions()
      .filter(({ target }) => target === called)
      .map(({ session_id }) => session_id);
  return { ...running, upstream, headers, own: headers["x-svc-session"], call, consent, sessionsOf, decidedIn };
}

describe("a call that its session's scope does not cover, before a double of the control plane", () => {
  let running: Awaited<ReturnType<typeof started>>;
  beforeEach(async () => {
    running = await started();
  });

  test("names the page on which a person can consent", async () => {
    const { call, controlPlane } = running;
    const { consentUrl } = denied;
    expect(await call()).toMatchObject({
      status: 403,
      error: { message: expect.stringContaining(`a person can consent at ${consentUrl}`) },
      details: { consent_url: consentUrl, remedy: expect.stringContaining(consentUrl) },
    });
    expect(controlPlane.countOf(consentsPath)).toBe(1);
  });

  test("goes where the person consented to it, and from then on at once", async () => {
    const { call, consent, sessionsOf, decidedIn, controlPlane, own } = running;
    const beside = await consent();
    for (const _ of [1, 2, 3]) expect((await call()).status).toBe(200);
    expect(sessionsOf()).toEqual([beside, beside, beside]);
    expect(decidedIn()).toEqual([own, beside, beside, beside]);
    expect(controlPlane.countOf(consentsPath)).toBe(1);
    expect(controlPlane.decisions().filter(({ target }) => target === entryAgent)).toHaveLength(1);
  });

  test("is logged under the session that was decided in", async () => {
    const { call, consent, logs } = running;
    const beside = await consent();
    await call();
    expect(logs.find(({ msg }) => msg === "call forwarded")).toMatchObject({ "authz.session_id": beside });
  });

  test("takes one hop 1, however many such calls come at once", async () => {
    const { call, consent, controlPlane } = running;
    await consent();
    const statuses = await Promise.all(Array.from({ length: 6 }, async () => (await call()).status));
    expect(statuses).toEqual(Array(6).fill(200));
    expect(controlPlane.decisions().filter(({ target }) => target === entryAgent)).toHaveLength(1);
  });

  test("of another caller is not sent there", async () => {
    const { call, consent, session, controlPlane } = running;
    await consent();
    await call();
    controlPlane.beside.length = 0;
    expect((await call(await session())).status).toBe(403);
    expect((await call()).status).toBe(200);
  });

  test.each([
    ["covers another scope", { scope: "travel" }],
    ["has ended", { expiresAt: new Date(Date.now() - 1000).toISOString() }],
  ])("stays denied where the session beside %s", async (_name, more) => {
    const { call, consent } = running;
    await consent({}, more);
    expect((await call()).status).toBe(403);
  });

  test.each(["SESSION_REVOKED", "SESSION_EXPIRED"])(
    "comes back to its own session once the other one is over (%s), and finds the next one",
    async (denyReason) => {
      const { call, consent, sessionsOf, decidedIn, controlPlane, own } = running;
      const first = await consent();
      expect((await call()).status).toBe(200);
      controlPlane.sessionPolicies.set(`${first} ${pay}`, { denyReason });
      expect(await call()).toMatchObject({ status: 403, details: { deny_reason: "SCOPE_NOT_CONSENTED" } });
      const second = await consent();
      expect((await call()).status).toBe(200);
      expect(sessionsOf()).toEqual([first, second]);
      expect(decidedIn()).toEqual([own, first, first, own, own, second]);
    },
  );

  test("is not decided in a known session of another scope", async () => {
    const { call, consent, decidedIn, controlPlane, own } = running;
    await consent();
    expect((await call()).status).toBe(200);
    controlPlane.policies.set(refund, { ...denied, consentableScopes: ["refunds"] });
    expect((await call({}, "refund")).status).toBe(403);
    expect(decidedIn(refund)).toEqual([own]);
  });

  test("is not tried again in a session that was over for another call", async () => {
    const { call, consent, decidedIn, controlPlane, own } = running;
    const beside = await consent();
    expect((await call()).status).toBe(200);
    controlPlane.beside.length = 0;
    controlPlane.policies.set(refund, denied);
    controlPlane.sessionPolicies.set(`${beside} ${refund}`, { denyReason: "SESSION_REVOKED" });
    for (const _ of [1, 2]) expect((await call({}, "refund")).status).toBe(403);
    expect(decidedIn(refund)).toEqual([own, beside, own]);
  });

  test("that the session beside denies gets its reason, and no page of consent", async () => {
    const { call, consent, controlPlane } = running;
    const beside = await consent({ denyReason: "TAINT_BLOCKED" });
    for (const _ of [1, 2]) {
      expect(await call()).toMatchObject({ status: 403, details: { deny_reason: "TAINT_BLOCKED" } });
    }
    controlPlane.sessionPolicies.set(`${beside} ${pay}`, {});
    expect((await call()).status).toBe(200);
    controlPlane.sessionPolicies.set(`${beside} ${pay}`, { denyReason: "TAINT_BLOCKED" });
    expect(await call()).toMatchObject({ status: 403, details: { deny_reason: "TAINT_BLOCKED" } });
  });

  test("may be privileged: its body is bound there", async () => {
    const { call, consent, upstream } = running;
    await consent({ privileged: true });
    expect((await call()).status).toBe(200);
    expect(upstream.received[0]?.headers["txn-token"]).toMatch(/^ey/);
  });

  test.each([
    ["cannot be reached", undefined],
    ["has no such route", 404],
    ["answers something else", 200],
  ])("is denied as before where the control plane %s", async (_name, status) => {
    const { call, consent, controlPlane } = running;
    await consent();
    controlPlane.override = ({ path }, response) => {
      if (path !== consentsPath) return undefined;
      if (status === undefined) response.destroy();
      else
        response.writeHead(status, { "content-type": "application/json" }).end('{"error":{"code":"route_not_found"}}');
      return true;
    };
    expect(await call()).toMatchObject({ status: 403, details: { deny_reason: "SCOPE_NOT_CONSENTED" } });
    controlPlane.override = undefined;
    expect((await call()).status).toBe(200);
  });

  test("that another reason denies asks for nothing", async () => {
    const { call, consent, controlPlane } = running;
    await consent();
    controlPlane.policies.set(pay, { denyReason: "TAINT_BLOCKED" });
    expect((await call()).status).toBe(403);
    expect(controlPlane.countOf(consentsPath)).toBe(0);
  });
});

test("an observed call goes to the session beside too, and is no longer one that would be blocked", async () => {
  const { call, consent, sessionsOf, metric } = await started("observe");
  expect((await call()).status).toBe(200);
  const beside = await consent();
  expect((await call()).status).toBe(200);
  expect(sessionsOf()).toEqual([undefined, beside]);
  expect(await metric('svc_pep_calls_total{outcome="observed_would_block"}')).toBe(1);
  expect(await metric('svc_pep_calls_total{outcome="allowed"}')).toBe(1);
});

test("without a bearer of the enforcement plane a call is decided in its own session alone", async () => {
  const { call, consent, controlPlane } = await started("enforce", { SVC_PEP_ENFORCEMENT_TOKEN: "" });
  await consent();
  expect(await call()).toMatchObject({ status: 403, details: { consent_url: denied.consentUrl } });
  expect(controlPlane.countOf(consentsPath)).toBe(0);
});
