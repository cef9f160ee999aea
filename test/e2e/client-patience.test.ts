import { type AuthzClient, authorizedMcpTransport, authorizedTool, type Session } from "@svc/client";
import { generatePrivateJwk } from "@svc/tokens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ClientStand,
  clientOnLine,
  consent,
  errorOf,
  planner,
  post,
  read,
  startClientStand,
} from "./src/client/stand.ts";

let stand: ClientStand;
beforeAll(async () => {
  stand = await startClientStand();
});
afterAll(() => stand?.stop());

type Ask = (svc: AuthzClient, session: Session, signal?: AbortSignal) => Promise<unknown>;

const id = "0197a000-0000-7000-8000-000000000001";
const run = authorizedTool;
const block = { kind: "tool", ref: "http:slow/read" } as const;
const manifest = { scopes: { expenses: { hop_budget: 2 } } };

/** Every call of the client that reaches the control plane. */
const asks: Readonly<Record<string, Ask>> = {
  consent: (svc, _, signal) => svc.consent(consent, { signal }),
  authorize: (svc, { context }, signal) => svc.authorize(context(), read, { signal }),
  hop: (svc, { context }, signal) => svc.hop(context(), planner, { signal }),
  call: (svc, { context }, signal) =>
    svc.call(context(), { ...post, params: {}, request: { url: stand.tool.url } }, { signal }),
  "an authorized tool function": (svc, { context }, signal) =>
    run(svc, post, () => expect.unreachable())(context(), {}, { signal }),
  targets: (svc, { context }, signal) => svc.targets(context(), {}, { signal }),
  metadata: (svc, _, signal) => svc.metadata({ signal }),
  jwks: (svc, _, signal) => svc.jwks({ signal }),
  live: (svc, _, signal) => svc.live({ signal }),
  ready: (svc, _, signal) => svc.ready({ signal }),
  "admin.registerAgent": (svc, _, signal) => svc.admin.registerAgent({ name: "slow", manifest }, { signal }),
  "admin.submitManifest": (svc, _, signal) => svc.admin.submitManifest({ agent: "planner", manifest }, { signal }),
  "admin.previewManifest": (svc, _, signal) => svc.admin.previewManifest({ agent: "planner", manifest }, { signal }),
  "admin.manifest": (svc, _, signal) => svc.admin.manifest("expenses", {}, { signal }),
  "admin.agents": (svc, _, signal) => svc.admin.agents({}, { signal }),
  "admin.agentId": (svc, _, signal) => svc.admin.agentId("planner", { signal }),
  "admin.reconciliation": (svc, _, signal) => svc.admin.reconciliation(id, { signal }),
  "admin.scopeCatalog": (svc, _, signal) => svc.admin.scopeCatalog("expenses", {}, { signal }),
  "admin.revokeSession": (svc, _, signal) => svc.admin.revokeSession(id, {}, { signal }),
  "admin.revokeSessions": (svc, _, signal) => svc.admin.revokeSessions({ userSub: "nemo" }, { signal }),
  "admin.endSignIn": (svc, _, signal) => svc.admin.endSignIn(id, {}, { signal }),
  "admin.endSignIns": (svc, _, signal) => svc.admin.endSignIns({ userSub: "nemo" }, { signal }),
  "admin.replaySink": (svc, _, signal) => svc.admin.replaySink("webhook", "2026-01-31T00:00:00Z", { signal }),
  "admin.setBlock": (svc, _, signal) => svc.admin.setBlock({ ...block, reason: "slow" }, { signal }),
  "admin.liftBlock": (svc, _, signal) => svc.admin.liftBlock(block, { signal }),
  "admin.issuerKeys": (svc, _, signal) => svc.admin.issuerKeys({}, { signal }),
  "admin.rotateKey": (svc, _, signal) => svc.admin.rotateKey({}, { signal }),
  "admin.removeKey": (svc, _, signal) => svc.admin.removeKey("none", { signal }),
  "admin.raiseIssuerEpoch": (svc, _, signal) => svc.admin.raiseIssuerEpoch({}, { signal }),
  "audit.chain": (svc, _, signal) => svc.audit.chain(id, { signal }),
  "audit.explanation": (svc, _, signal) => svc.audit.explanation(id, { signal }),
  "audit.decisions": (svc, _, signal) => svc.audit.decisions({}, { signal }),
  "audit.allDecisions": (svc, _, signal) => svc.audit.allDecisions({}, { signal }).next(),
  "audit.verdicts": (svc, _, signal) => svc.audit.verdicts({ agent: "planner", target: "http:x" }, { signal }),
  "audit.scopes": (svc, _, signal) => svc.audit.scopes({}, { signal }),
  "audit.events": (svc, _, signal) => svc.audit.events({}, { signal }),
  "audit.wouldBlock": (svc, _, signal) => svc.audit.wouldBlock({}, { signal }),
  "audit.replay": (svc, _, signal) => svc.audit.replay({ agent: "planner", manifest }, { signal }),
  "audit.sessions": (svc, _, signal) => svc.audit.sessions({}, { signal }),
  "audit.session": (svc, _, signal) => svc.audit.session(id, { signal }),
  "audit.signIns": (svc, _, signal) => svc.audit.signIns({}, { signal }),
  "audit.sinks": (svc, _, signal) => svc.audit.sinks({}, { signal }),
  "audit.blocks": (svc, _, signal) => svc.audit.blocks({}, { signal }),
  "identity.of": (svc, _, signal) => svc.identity.of("planner", { signal }),
  "identity.byId": (svc, _, signal) => svc.identity.byId(id, { signal }),
  "identity.revocations": (svc, _, signal) => svc.identity.revocations({}, { signal }),
  "identity.issueEnrollToken": (svc, _, signal) => svc.identity.issueEnrollToken({ agent: "planner" }, { signal }),
  "identity.enroll": (svc, _, signal) => svc.identity.enroll({}, { signal }),
  "identity.revoke": (svc, _, signal) => svc.identity.revoke(id, {}, { signal }),
  "identity.liftQuarantine": (svc, _, signal) => svc.identity.liftQuarantine(id, {}, { signal }),
};

/** Connects again until it is aborted (packages/client/test/follow-events.test.ts). */
const endless = "identity.follow";

/** A new method of a plane must be added to the list above. */
test("the list has every method of every plane", async () => {
  await using on = await clientOnLine(stand);
  const { admin, audit, identity } = on.svc;
  const methods = Object.entries({ admin, audit, identity }).flatMap(([plane, each]) =>
    Object.keys(each).map((method) => `${plane}.${method}`),
  );
  expect([...Object.keys(asks), endless]).toEqual(expect.arrayContaining(methods));
});

describe.concurrent("with a control plane that does not respond", () => {
  test.each(Object.entries(asks))("%s throws ControlPlaneUnavailable within the timeout", async (_name, ask) => {
    await using on = await clientOnLine(stand, { identityKey: await generatePrivateJwk(), agentName: "planner" });
    await using brief = await clientOnLine(stand, {
      timeout: 0.3,
      identityKey: await generatePrivateJwk(),
      agentName: "planner",
    });
    const session = await on.svc.consent(consent);
    brief.line.freeze();
    expect(await errorOf(ask(brief.svc, session))).toMatchObject({ name: "ControlPlaneUnavailable", fault: "timeout" });
  });

  test.each(Object.entries(asks))("%s ends at once with the caller's abort reason", async (_name, ask) => {
    await using on = await clientOnLine(stand, {
      timeout: 600,
      identityKey: await generatePrivateJwk(),
      agentName: "planner",
    });
    const session = await on.svc.consent(consent);
    on.line.freeze();
    const leaving = new AbortController();
    const reason = new Error("the user left");
    const asked = errorOf(ask(on.svc, session, leaving.signal));
    setImmediate(() => leaving.abort(reason));
    expect(await asked).toBe(reason);
  });
});

test("the MCP transport sends nothing, and throws ControlPlaneUnavailable", async () => {
  await using on = await clientOnLine(stand, { timeout: 0.3 });
  const { context } = await on.svc.consent(consent);
  on.line.freeze();
  const sent: unknown[] = [];
  const options = { client: on.svc, context: context(), server: "files", dataClass: "docs" };
  const transport = authorizedMcpTransport(options, (fetch) => ({
    start: async () => {},
    close: async () => {},
    send: async (message: unknown) => {
      sent.push(message);
      await fetch(stand.tool.url, { method: "POST", body: JSON.stringify(message) });
    },
  }));
  const error = await errorOf(transport.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "x" } }));
  expect(error).toMatchObject({ name: "ControlPlaneUnavailable", fault: "timeout" });
  expect(sent).toEqual([]);
});
