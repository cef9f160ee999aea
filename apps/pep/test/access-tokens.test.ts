import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { waitUntil } from "@svc/test-support";
import { describe, expect, test } from "vitest";
import { entryAgent } from "./support/control-plane-routes.ts";
import { startedProtectedPep } from "./support/protected.ts";
import { startedUpstream } from "./support/upstream.ts";

const routes = [{ methods: ["GET"], path: "/entries", target: "http:ledger/entries", data_class: "finance" }];
const oauth = { scope: "expenses" };
const redeemPath = "/v1/handles/redeem";

async function setup(more: object = {}, { isAmbient = false } = {}) {
  const upstream = await startedUpstream();
  const running = await startedProtectedPep({
    upstreams: [
      { name: "ledger", url: upstream.url, routes, oauth, ...more },
      { name: "other", url: upstream.url, routes, oauth },
      { name: "plain", url: upstream.url, routes, credential: "passthrough", allow_passthrough_when_enforcing: true },
    ],
    settings: (folder): Record<string, string> =>
      isAmbient ? { SVC_PEP_SESSION_FILE: join(folder, "session.json") } : {},
    async prepare(folder, controlPlane) {
      const { sessionId, token } = await controlPlane.consent();
      writeFileSync(join(folder, "session.json"), JSON.stringify({ session_id: sessionId, token }));
    },
  });
  running.controlPlane.policies.set("http:ledger/entries", {});
  const read = (headers: Record<string, string> = {}, name = "ledger") =>
    fetch(`${running.url}/${name}/entries`, { headers, redirect: "manual" });
  const redeemed = () => running.controlPlane.countOf(redeemPath);
  return { ...running, upstream, read, redeemed };
}

const refusedAs = async (response: Promise<Response>) => {
  const { status, headers } = await response;
  return [status, headers.get("x-svc-blocked"), /error="(\w+)"/.exec(headers.get("www-authenticate") ?? "")?.[1]];
};

describe("an access token, before a double of the control plane", () => {
  test("is redeemed once, and its calls are the agent's", async () => {
    const { read, grant, redeemed, controlPlane, upstream } = await setup();
    const { authorization, sessionId } = await grant("ledger");
    for (const _ of [1, 2, 3]) expect((await read({ authorization })).status).toBe(200);
    expect(redeemed()).toBe(1);
    const [first, ...calls] = controlPlane.decisions();
    expect(first).toMatchObject({ target: entryAgent, target_kind: "agent", data_class: "finance docs" });
    expect(calls.map(({ target, session_id }) => [target, session_id])).toEqual(
      Array.from({ length: 3 }, () => ["http:ledger/entries", sessionId]),
    );
    expect(upstream.received.map(({ headers }) => headers["x-svc-session"])).toEqual(Array(3).fill(sessionId));
  });

  test("is redeemed by one request, however many calls bring it at once", async () => {
    const { read, grant, redeemed } = await setup();
    const { authorization } = await grant("ledger");
    const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await read({ authorization })).status));
    expect([statuses, redeemed()]).toEqual([Array(8).fill(200), 1]);
  });

  test("that was refreshed uses the session's tokens on", async () => {
    const { read, grant, redeemed, controlPlane, publicUrl } = await setup();
    const first = await grant("ledger");
    await read({ authorization: first.authorization });
    const { handle } = await controlPlane.grant(`${publicUrl}/ledger`, first);
    expect((await read({ authorization: `Bearer ${handle}` })).status).toBe(200);
    expect(redeemed()).toBe(2);
    expect(controlPlane.decisions().filter(({ target }) => target === entryAgent)).toHaveLength(1);
  });

  test("never leaves the enforcement point, but to be redeemed", async () => {
    const { read, grant, upstream, controlPlane, logs, reported } = await setup();
    const { handle, authorization } = await grant("ledger");
    const answers = [];
    for (const name of ["ledger", "other", "plain"]) answers.push(await (await read({ authorization }, name)).text());
    const sent = upstream.received.map(({ rawHeaders, url }) => [rawHeaders, url]);
    const asked = controlPlane.asked.filter(({ path }) => path !== redeemPath);
    expect(asked.length).toBeGreaterThan(0);
    expect(JSON.stringify([answers, sent, asked, logs, reported])).not.toContain(handle.slice(7));
  });

  test("of another resource is refused", async () => {
    const { read, grant, upstream } = await setup();
    const { authorization } = await grant("ledger");
    expect((await read({ authorization })).status).toBe(200);
    expect(await refusedAs(read({ authorization }, "other"))).toEqual([401, "unauthorized", "invalid_token"]);
    expect(upstream.received).toHaveLength(1);
  });

  test.each(["Bearer", "bearer", "BEARER ", "Basic", "DPoP"])(
    "after %s is no application's own beside an ambient session, where no client logs in",
    async (scheme) => {
      const { read, grant, redeemed, upstream } = await setup({}, { isAmbient: true });
      expect((await read({ authorization: "Basic of-the-application" }, "plain")).status).toBe(200);
      upstream.received.length = 0;
      const { handle } = await grant("ledger");
      for (const token of [handle, handle.replace("_at_", "_rt_"), `${handle}A`]) {
        expect((await read({ authorization: `${scheme} ${token}` }, "plain")).status).toBe(401);
      }
      expect([redeemed(), upstream.received]).toEqual([0, []]);
    },
  );

  test("with the name of another session is refused", async () => {
    const { read, grant } = await setup();
    const { authorization, sessionId } = await grant("ledger");
    expect((await read({ authorization, "x-svc-session": sessionId })).status).toBe(200);
    expect((await read({ authorization, "x-svc-session": "another" })).status).toBe(401);
  });

  test.each([
    ["unknown", { handle: `svc_at_${"A".repeat(43)}` }],
    ["longer", { more: "A" }],
  ])("that is %s is 401 invalid_token", async (_name, { handle, more = "" }: { handle?: string; more?: string }) => {
    const { read, grant } = await setup();
    const given = handle ?? (await grant("ledger")).handle;
    expect(await refusedAs(read({ authorization: `Bearer ${given}${more}` }))).toEqual([
      401,
      "unauthorized",
      "invalid_token",
    ]);
  });

  test.each(["SESSION_EXPIRED", "SESSION_REVOKED"])(
    "of a session that ended (%s) is 401 invalid_token, and is redeemed anew",
    async (denyReason) => {
      const { read, grant, redeemed, controlPlane } = await setup();
      const { authorization } = await grant("ledger");
      await read({ authorization });
      controlPlane.policies.set("http:ledger/entries", { denyReason });
      expect(await refusedAs(read({ authorization }))).toEqual([401, "unauthorized", "invalid_token"]);
      controlPlane.policies.set("http:ledger/entries", {});
      expect((await read({ authorization })).status).toBe(200);
      expect(redeemed()).toBe(2);
    },
  );

  test("of an agent that is revoked is a policy deny", async () => {
    const { read, grant, controlPlane } = await setup();
    const { authorization } = await grant("ledger");
    controlPlane.policies.set(entryAgent, { denyReason: "AGENT_REVOKED" });
    const response = await read({ authorization });
    expect([response.status, await response.json()]).toMatchObject([
      403,
      { details: { deny_reason: "AGENT_REVOKED" } },
    ]);
  });

  test("is redeemed again after its end", async () => {
    const { read, grant, redeemed, controlPlane } = await setup();
    const { authorization } = await grant("ledger");
    controlPlane.changeRedeemed = { handle_expires_at: new Date(Date.now() + 300).toISOString() };
    await read({ authorization });
    await waitUntil("its end", async () => (await read({ authorization })).ok && redeemed() > 1);
  });

  test.each([
    ["gone", undefined, 503, "exchange_unreachable"],
    ["without a database", [503, "database_unavailable"], 503, "exchange_unreachable"],
    ["over its rate limit", [429, "rate_limited"], 503, "other"],
    ["without sign-in", [404, "route_not_found"], 500, "other"],
    ["with another token for this plane", [401, "unauthorized"], 500, "other"],
    ["newer than this enforcement point", [400, "invalid_request"], 500, "other"],
    ["answering something else", [200, "nonsense"], 503, "exchange_unreachable"],
  ] as const)(
    "is refused where the control plane is %s, and good again later",
    async (_name, answer, status, cause) => {
      const { read, grant, controlPlane, upstream } = await setup();
      const { authorization } = await grant("ledger");
      controlPlane.override = ({ path }, response) => {
        if (path !== redeemPath) return undefined;
        if (answer === undefined) response.destroy();
        else response.writeHead(answer[0], { "content-type": "application/json" });
        if (answer !== undefined) response.end(JSON.stringify({ error: { code: answer[1], message: "refused" } }));
        return true;
      };
      expect((await refusedAs(read({ authorization }))).slice(0, 2)).toEqual([status, cause]);
      expect(upstream.received).toEqual([]);
      controlPlane.override = undefined;
      expect((await read({ authorization })).status).toBe(200);
    },
  );

  test("leaves a hop token as it was: nothing more is requested", async () => {
    const { read, session, redeemed, controlPlane } = await setup();
    expect((await read(await session())).status).toBe(200);
    expect([redeemed(), controlPlane.countOf("/v1/session/consents")]).toEqual([0, 0]);
  });
});
