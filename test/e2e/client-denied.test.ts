import { type AuthzClient, type HopContext, PolicyDenied, type Session, TransactionParamsRequired } from "@svc/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  bearers,
  browse,
  type ClientStand,
  clientOf,
  clientOnLine,
  consent,
  errorOf,
  pay,
  planner,
  post,
  read,
  startClientStand,
} from "./src/client/stand.ts";
import { presentedToBeSpent } from "./src/presented.ts";

/** Each deny of a real control plane as the client's error, with all members. */
let stand: ClientStand;
let svc: AuthzClient;

beforeAll(async () => {
  stand = await startClientStand();
  svc = clientOf(stand.url);
});
afterAll(async () => {
  await svc?.close();
  await stand?.stop();
});

const uuid = /^[0-9a-f-]{36}$/;
type Provoke = (session: Session) => Promise<unknown>;

describe("PolicyDenied", () => {
  const clean = { taint: "trusted_internal", taintSource: null } as const;
  const asPlanner = async (session: Session): Promise<HopContext> => (await svc.hop(session.context(), planner))[1];
  const cases: [string, Provoke, Partial<PolicyDenied>][] = [
    [
      "an undeclared tool",
      ({ context }) => svc.authorize(context(), { ...read, target: "http:ledger/drop" }),
      {
        reason: "TARGET_NOT_DECLARED",
        recoverable: false,
        consentableScopes: [],
        target: "http:ledger/drop",
        hop: 1,
        ...clean,
      },
    ],
    [
      "a tool of another scope that the person could consent to",
      ({ context }) => svc.authorize(context(), pay),
      {
        reason: "SCOPE_NOT_CONSENTED",
        recoverable: true,
        consentableScopes: ["payroll"],
        target: pay.target,
        hop: 1,
        ...clean,
      },
    ],
    [
      "the same tool one hop later",
      async (session) => svc.authorize(await asPlanner(session), pay),
      {
        reason: "SCOPE_NOT_CONSENTED",
        recoverable: true,
        consentableScopes: ["payroll"],
        target: pay.target,
        hop: 2,
        ...clean,
      },
    ],
    [
      "a data class beyond the token's",
      async (session) => svc.authorize(await asPlanner(session), { ...read, dataClass: "finance" }),
      { reason: "DATA_CLASS_NOT_DECLARED", recoverable: false, target: read.target, hop: 2, ...clean },
    ],
    [
      "a call influenced by an untrusted result",
      async ({ context }) => {
        await svc.authorize(context(), browse);
        return svc.authorize(context(), { ...post, params: {} });
      },
      {
        reason: "TAINT_BLOCKED",
        recoverable: false,
        target: post.target,
        taint: "untrusted_external",
        taintSource: browse.target,
      },
    ],
    [
      "a call that its caller declares tainted",
      ({ context }) => svc.authorize(context(), { ...post, params: {}, taint: "untrusted_external" }),
      { reason: "TAINT_BLOCKED", taint: "untrusted_external", taintSource: "declared" },
    ],
  ];

  test.each(cases)("for %s: has every field, and its record can be read", async (_name, provoke, want) => {
    const session = await svc.consent(consent);
    const error = (await errorOf(provoke(session))) as PolicyDenied;
    expect(error).toBeInstanceOf(PolicyDenied);
    expect(error).toMatchObject({ name: "PolicyDenied", ...want });
    expect(error).toMatchObject({ sessionId: session.sessionId, policyVersion: session.policyVersion });
    expect(error.actionId).toMatch(uuid);
    for (const fact of [error.target, error.reason, error.actionId, error.remedy, error.link]) {
      expect(error.message).toContain(fact);
    }
    const { hops, root } = await svc.audit.chain(error.actionId ?? "");
    expect(root).toMatchObject({ userSub: "alice", scope: "expenses", sessionId: session.sessionId });
    expect(hops.at(-1)).toMatchObject({
      decision: "deny",
      denyReason: error.reason,
      target: error.target,
      hop: error.hop,
    });
  });

  /** The decision is an allow; a change before the named step makes it a deny. */
  test.each(["/v1/token/exchange", "/v1/token/transaction"])("for a session that ends before %s", async (path) => {
    let ended: Session | undefined;
    const meddling: typeof fetch = async (url, init) => {
      if (String(url).endsWith(path)) {
        const revocation = `${stand.url}/v1/sessions/${ended?.sessionId}/revoke`;
        const headers = { authorization: `Bearer ${bearers.adminToken}`, "content-type": "application/json" };
        const { status } = await fetch(revocation, { method: "POST", headers, body: "{}" });
        expect(status).toBe(200);
      }
      return fetch(url, init);
    };
    await using meddled = clientOf(stand.url, { fetch: meddling });
    ended = await meddled.consent(consent);
    const error = await errorOf(meddled.authorize(ended.context(), { ...post, params: { amount: 5 } }));
    expect(error).toBeInstanceOf(PolicyDenied);
    expect(error).toMatchObject({ reason: "SESSION_REVOKED", recoverable: false, target: post.target, hop: 1 });
    // The record that the control plane names is the deny, not the allow before it.
    const { actionId } = error as PolicyDenied;
    const { hops } = await svc.audit.chain(actionId ?? "");
    expect(hops.at(-1)).toMatchObject({ actionId, decision: "deny", denyReason: "SESSION_REVOKED" });
    expect(await svc.audit.explanation(actionId ?? "")).toMatchObject({
      decision: "deny",
      denyReason: "SESSION_REVOKED",
    });
  });
});

test("TransactionParamsRequired is thrown before any exchange or mint, and nothing is spent", async () => {
  await using on = await clientOnLine(stand);
  const session = await on.svc.consent(consent);
  const error = (await errorOf(on.svc.authorize(session.context(), post))) as TransactionParamsRequired;
  expect(error).toBeInstanceOf(TransactionParamsRequired);
  expect(error).toMatchObject({ name: "TransactionParamsRequired", target: post.target });
  const sent = on.line.sent().toString("latin1");
  expect(sent).not.toContain("/v1/token/exchange");
  expect(sent).not.toContain("/v1/token/transaction");
  const { data } = await svc.audit.decisions({ sessionId: session.sessionId });
  expect(data).toEqual([
    expect.objectContaining({ actionId: error.actionId, decision: "allow", spentAt: null, paramsHash: null }),
  ]);
  expect(presentedToBeSpent(on.line)).toEqual([]);
  expect(await on.svc.authorize(session.context(), { ...post, params: { amount: 5 } })).toHaveProperty(
    "transactionToken",
  );
  // The context's own token, for siblings, and one of these for the hop.
  expect(presentedToBeSpent(on.line)).toHaveLength(2);
});
