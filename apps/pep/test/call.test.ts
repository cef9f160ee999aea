import { decodeUnverifiedHopToken } from "@svc/tokens";
import { describe, expect, test } from "vitest";
import { startedPep } from "./support/pep.ts";
import { startedUpstream } from "./support/upstream.ts";

const routes = [
  { methods: ["GET", "HEAD"], path: "/entries/:id", target: "http:ledger/read_entry", data_class: "finance.entries" },
  { methods: ["POST"], path: "/entries", target: "http:ledger/post_entry", data_class: "finance.entries" },
];

async function setup() {
  const upstream = await startedUpstream();
  const running = await startedPep({ upstreams: [{ name: "ledger", url: upstream.url, routes }] });
  running.controlPlane.policies.set("http:ledger/read_entry", {});
  running.controlPlane.policies.set("http:ledger/post_entry", { privileged: true });
  return { upstream, ...running };
}

describe("against a double of the control plane", () => {
  test("an allowed call is forwarded once with a narrowed token, and its response returned whole", async () => {
    const { upstream, url, session, controlPlane, metric } = await setup();
    const headers = await session();
    const response = await fetch(`${url}/ledger/entries/7?x=1`, { headers });
    expect([response.status, await response.text()]).toEqual([200, "done"]);
    const [received] = upstream.received;
    expect(received).toMatchObject({ method: "GET", url: "/entries/7?x=1" });
    const token = received?.headers.authorization?.replace("Bearer ", "") ?? "";
    expect(decodeUnverifiedHopToken(token)).toMatchObject({
      aud: "http:ledger/read_entry",
      scope: "finance.entries",
      hop: 2,
    });
    expect(received?.headers["x-svc-session"]).toBe(headers["x-svc-session"]);
    expect(controlPlane.decisions()).toHaveLength(1);
    expect(await metric('svc_pep_calls_total{outcome="allowed"}')).toBe(1);
  });

  test("an agent makes any number of calls, also concurrently, with one token", async () => {
    const { upstream, url, session } = await setup();
    const headers = await session();
    const call = async () => (await fetch(`${url}/ledger/entries/7`, { headers })).status;
    expect(await call()).toBe(200);
    expect(await Promise.all(Array.from({ length: 40 }, call))).toEqual(Array(40).fill(200));
    const tokens = upstream.received.map(({ headers }) => headers.authorization);
    expect(new Set(tokens).size).toBe(41);
  });

  test("a privileged call is bound to the bytes that are sent", async () => {
    const { upstream, url, session, controlPlane } = await setup();
    const body = '{"amount": 12.50, "to":"caf\\u00e9"}';
    const response = await fetch(`${url}/ledger/entries`, { method: "POST", headers: await session(), body });
    expect(response.status).toBe(200);
    expect(await upstream.received[0]?.body).toBe(body);
    expect(upstream.received[0]?.headers["txn-token"]).toMatch(/^ey/);
    const minted = controlPlane.asked.find(({ path }) => path === "/v1/token/transaction");
    expect(minted?.body).toContain(`"params":${body}`);
  });

  test("a denied call gets the reason and the action's id, and nothing goes upstream", async () => {
    const { upstream, url, session, controlPlane, metric } = await setup();
    controlPlane.policies.set("http:ledger/read_entry", {
      denyReason: "SCOPE_NOT_CONSENTED",
      consentableScopes: ["audit"],
    });
    const response = await fetch(`${url}/ledger/entries/7`, { headers: await session() });
    expect(response.status).toBe(403);
    expect(response.headers.get("x-svc-blocked")).toBe("policy");
    expect(response.headers.get("www-authenticate")).toBe('Bearer error="insufficient_scope", scope="audit"');
    expect(await response.json()).toEqual({
      error: { code: "policy", message: expect.any(String) },
      details: {
        action_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        deny_reason: "SCOPE_NOT_CONSENTED",
        recoverable: true,
        consentable_scopes: ["audit"],
        target: "http:ledger/read_entry",
        reason: "SCOPE_NOT_CONSENTED",
        remedy: "ask the person to consent to one of these scopes: audit",
        link: "docs/troubleshooting.md#scope_not_consented",
      },
    });
    expect(upstream.received).toHaveLength(0);
    expect(await metric('svc_pep_blocks_total{cause="policy"}')).toBe(1);
  });

  test("denies spend nothing: after any number of them the agent's token is valid", async () => {
    const { url, session, controlPlane } = await setup();
    const headers = await session();
    const call = async () => (await fetch(`${url}/ledger/entries/7`, { headers })).status;
    controlPlane.policies.set("http:ledger/read_entry", { denyReason: "TAINT_BLOCKED" });
    for (let n = 0; n < 30; n++) expect(await call()).toBe(403);
    expect(controlPlane.countOf("/v1/token/renew")).toBeLessThanOrEqual(2);
    expect(controlPlane.countOf("/v1/token/exchange")).toBe(0);
    controlPlane.policies.set("http:ledger/read_entry", {});
    expect(await call()).toBe(200);
  });
});
