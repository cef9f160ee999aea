import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AuthzClient, type DecisionRow, type Grant, type HopContext, hopContext, type Session } from "@svc/client";
import { aggregateTrace } from "@svc/drift";
import { type EchoUpstream, startEchoUpstream } from "@svc/test-support";
import { decodeUnverifiedHopToken } from "@svc/tokens";
import { createVerifier, type Verifier } from "@svc/verifier";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  auditor,
  bearers,
  browse,
  type ClientStand,
  clientOf,
  clientOnLine,
  consent,
  planner,
  post,
  read,
  startClientStand,
} from "./src/client/stand.ts";
import { presentedToBeSpent } from "./src/presented.ts";

/** The client member by member (docs/reference/client.md#value-objects), against a real control plane. */
let stand: ClientStand;
let svc: AuthzClient;
let verifier: Verifier;
let session: Session;

beforeAll(async () => {
  stand = await startClientStand();
  svc = clientOf(stand.url);
  session = await svc.consent({ ...consent, ttlSeconds: 600 });
  verifier = createVerifier({
    issuer: stand.url,
    audience: [read.target, post.target],
    jwksUrl: `${stand.url}/.well-known/jwks.json`,
    identityView: { url: stand.url, token: bearers.identityToken },
  });
});
afterAll(async () => {
  verifier?.close();
  await svc?.close();
  await stand?.stop();
});

const params = { amount: 5, memo: "tea" };
const claimsOf = (token: string) => decodeUnverifiedHopToken(token);

describe("Session", () => {
  test.each<[keyof Session, (value: never) => void]>([
    ["sessionId", (id: string) => expect(id).toMatch(/^[0-9a-f-]{36}$/)],
    [
      "rootGrant",
      (token: string) => expect(claimsOf(token)).toMatchObject({ hop: 1, sub: "alice", scope: "expenses" }),
    ],
    ["policyVersion", (version: number) => expect(version).toBe(claimsOf(session.rootGrant)?.policyVersion)],
    ["scope", (scope: string) => expect(scope).toBe("expenses")],
    ["userSub", (sub: string) => expect(sub).toBe("alice")],
    ["hopBudget", (budget: number) => expect(budget).toBe(4)],
    ["expiresAt", (at: string) => expect(Date.parse(at) / 1000).toBeCloseTo(claimsOf(session.rootGrant)?.exp ?? 0, -1)],
    ["context", (context: () => HopContext) => expect(context()).toMatchObject({ hop: 1, token: session.rootGrant })],
  ])("%s", (member, check) => check(session[member] as never));
});

describe("HopContext", () => {
  let context: HopContext;
  beforeAll(async () => {
    const [, second] = await svc.hop(session.context(), planner);
    [, context] = await svc.hop(second, auditor);
  });

  test("is session_id and token only", () => {
    expect(Object.keys(context)).toEqual(["sessionId", "token"]);
    const { sessionId, token } = JSON.parse(JSON.stringify(context));
    expect(hopContext(sessionId, token)).toMatchObject({ hop: 3, caller: "auditor" });
  });
  test.each<[string, () => unknown, () => unknown]>([
    ["act_chain, from the token's act claim", () => context.actChain, () => ["alice", "planner", "auditor"]],
    ["hop, the length of act_chain", () => context.hop, () => context.actChain.length],
    ["caller, the token's aud where it is delegated", () => context.caller, () => claimsOf(context.token)?.aud],
    ["caller, else its sub", () => session.context().caller, () => "alice"],
    [
      "headers()",
      () => context.headers(),
      () => ({ Authorization: `Bearer ${context.token}`, "X-Svc-Session": session.sessionId }),
    ],
    [
      "advanced(token): the same session with the new token",
      () => session.context().advanced(context.token),
      () => expect.objectContaining({ sessionId: session.sessionId, token: context.token }),
    ],
  ])("%s", (_member, actual, wanted) => expect(actual()).toEqual(wanted()));
});

describe("Grant", () => {
  let plain: Grant;
  let privileged: Grant;
  beforeAll(async () => {
    plain = await svc.authorize(session.context(), read);
    privileged = await svc.authorize(session.context(), { ...post, params });
  });

  test.each<[string, () => unknown, () => unknown]>([
    ["access_token, for the target alone", () => claimsOf(plain.accessToken)?.aud, () => read.target],
    ["scope, the data class it was narrowed to", () => plain.scope, () => read.dataClass],
    ["expires_in, seconds", () => plain.expiresIn, () => 60],
    ["hop, one more than its subject token's", () => plain.hop, () => 2],
    ["target", () => plain.target, () => read.target],
    ["transaction_token, only for a privileged target", () => "transactionToken" in plain, () => false],
    ["identity_assertion, only with an agent key", () => "identityAssertion" in plain, () => false],
    ["taint", () => plain.taint, () => "trusted_internal"],
    ["action_id, of the recorded decision", () => plain.actionId, () => claimsOf(plain.accessToken)?.actionId],
    [
      "headers()",
      () => plain.headers(),
      () => ({ Authorization: `Bearer ${plain.accessToken}`, "X-Svc-Session": session.sessionId }),
    ],
    [
      "headers(), with Txn-Token when present",
      () => privileged.headers(),
      () => ({
        Authorization: `Bearer ${privileged.accessToken}`,
        "X-Svc-Session": session.sessionId,
        "Txn-Token": privileged.transactionToken,
      }),
    ],
  ])("%s", (_member, actual, wanted) => expect(actual()).toEqual(wanted()));

  test("transaction_token is bound to exactly the params, for one call", async () => {
    const headers = privileged.headers();
    const admit = (sent: object) => verifier.admit({ headers, dataClass: post.dataClass, params: { ...sent } });
    await expect(admit({ ...params, amount: 6 })).rejects.toMatchObject({ cause: "params_mismatch" });
    expect(await admit(params)).toMatchObject({ sub: "alice", actionId: privileged.actionId });
    await expect(admit(params)).rejects.toMatchObject({ cause: "replayed" });
  });

  test("its decision leads back to the person", async () => {
    const { complete, root, hops } = await svc.audit.chain(plain.actionId);
    expect({ complete, root, hop: hops.length }).toMatchObject({ complete: true, root: { userSub: "alice" }, hop: 1 });
  });
});

describe("calls", () => {
  test("call merges the grant's headers over the caller's", async () => {
    const before = stand.tool.requests.length;
    const headers = { authorization: "Bearer mine", "X-Svc-Session": "mine", "x-trace": "kept" };
    const request = { url: `${stand.tool.url}/entries`, headers };
    const response = await svc.call(session.context(), { ...post, params, request });
    expect(response.status).toBe(200);
    const [received] = stand.tool.requests.slice(before);
    const sent = received?.rawHeaders ?? [];
    expect(sent).not.toContain("mine");
    expect(sent).not.toContain("Bearer mine");
    expect(sent).toContain("kept");
    expect(sent.filter((name) => name.toLowerCase() === "authorization")).toHaveLength(1);
    expect(JSON.parse(String(received?.body))).toEqual(params);
  });

  test("authorize decides and exchanges, and renews tokens automatically", async () => {
    await using on = await clientOnLine(stand);
    const fresh = await on.svc.consent(consent);
    for (let call = 0; call < 3; call++) await on.svc.authorize(fresh.context(), read);
    const sent = on.line.sent().toString("latin1");
    // The first call spends the consent's own token for siblings; each later one is one trip.
    expect(sent.match(/POST \/v1\/(?:authorize|token\/exchange|hops) /g)).toEqual([
      "POST /v1/authorize ",
      "POST /v1/token/exchange ",
      "POST /v1/hops ",
      "POST /v1/hops ",
    ]);
    const presented = presentedToBeSpent(on.line);
    expect(new Set(presented).size).toBe(presented.length);
  });

  test("taint only rises: after untrusted content a tool that does not accept taint is denied", async () => {
    const fresh = await svc.consent(consent);
    await svc.authorize(fresh.context(), browse);
    const after = await svc.authorize(fresh.context(), { ...read, taint: "trusted_internal" });
    expect(after.taint).toBe("untrusted_external");
  });

  test("wrap_result and use_manifest label as the decision point does", async () => {
    await using labelling = clientOf(stand.url);
    const unmatched = { value: 1, provenance: "untrusted_external" };
    expect(labelling.wrapResult(1, "https://web.test/", ["https://own.test/"])).toEqual(unmatched);
    expect(labelling.wrapResult(1, read.target, [read.target]).provenance).toBe("trusted_internal");
    const { doc } = await svc.admin.manifest("expenses", { agent: "planner" });
    labelling.useManifest(doc as never);
    expect(labelling.wrapResult(1, browse.target, [browse.target]).provenance).toBe("untrusted_external");
    expect(labelling.wrapResult(1, read.target).provenance).toBe("trusted_internal");
  });
});

describe("planes", () => {
  test.each<[string, () => Promise<unknown>, unknown]>([
    [
      "admin.agents",
      () => svc.admin.agents({ limit: 1, status: "attested" }),
      { data: [{ name: "auditor", latestManifestVersion: 1, latestStatus: "attested" }], page: { limit: 1 } },
    ],
    ["admin.manifest", () => svc.admin.manifest("payroll", { version: 1 }), { agent: "planner", version: 1 }],
    [
      "admin.reconciliation, by admin.agentId",
      async () => svc.admin.reconciliation(await svc.admin.agentId("planner")),
      { status: "attested", discoveryOk: false },
    ],
    [
      "admin.scopeCatalog, without paths",
      () => svc.admin.scopeCatalog("expenses"),
      { scope: "expenses", hopBudget: 4, downstreamAgents: ["auditor"], tools: expect.any(Array) },
    ],
    [
      "audit.decisions, filtered",
      () => svc.audit.decisions({ sessionId: session.sessionId, targetKind: "agent", outcome: "allow", limit: 200 }),
      {
        data: expect.arrayContaining([expect.objectContaining({ target: "auditor", hop: 2, actingAgent: "planner" })]),
      },
    ],
    [
      "identity.byId",
      async () => svc.identity.byId(await svc.admin.agentId("auditor")),
      { agent: "auditor", status: "none", anchorVersion: 0, revoked: false },
    ],
    ["identity.revocations", () => svc.identity.revocations({ limit: 1 }), { data: [], asOf: expect.any(String) }],
    ["live, without a credential", () => clientOf(stand.url, { adminToken: undefined }).live(), undefined],
    ["ready, without a credential", () => clientOf(stand.url, { adminToken: undefined }).ready(), { status: "ok" }],
  ])("%s", async (_method, ask, want) => {
    const answer = await ask();
    if (want === undefined) expect(answer).toBeUndefined();
    else expect(answer).toMatchObject(want as object);
  });

  test("allDecisions reads every page, newest first, each row once", async () => {
    const rows: DecisionRow[] = [];
    for await (const row of svc.audit.allDecisions({ sessionId: session.sessionId, limit: 2 })) rows.push(row);
    const ids = rows.map(({ actionId, stage }) => `${actionId} ${stage}`);
    expect(rows.length).toBeGreaterThan(4);
    expect(new Set(ids).size).toBe(ids.length);
    expect(rows.map(({ ts }) => ts)).toEqual(
      rows
        .map(({ ts }) => ts)
        .toSorted()
        .toReversed(),
    );
  });
});

test("trace_path records one edge for each authorize call", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-edges-"));
  const svcTracing = clientOf(stand.url, { tracePath: `${folder}/` });
  const fresh = await svcTracing.consent(consent);
  await svcTracing.authorize(fresh.context(), read);
  await svcTracing.authorize(fresh.context(), { ...read, target: "http:ledger/drop" }).catch(() => {});
  await svcTracing.close();
  const trace = aggregateTrace(folder);
  rmSync(folder, { recursive: true });
  expect(trace).toMatchObject({ events: 2, runs: 1, faults: [] });
  expect(trace.edges.map(({ target, outcomes }) => [target, ...outcomes])).toEqual([
    [read.target, "allow"],
    ["http:ledger/drop", "deny"],
  ]);
});

test("a tool's redirect is the answer, and no credential follows it", async () => {
  const elsewhere: EchoUpstream = await startEchoUpstream();
  const redirecting = await startEchoUpstream((_request, response) =>
    response.writeHead(307, { location: elsewhere.url }).end(),
  );
  const response = await svc.call(session.context(), { ...read, request: { url: redirecting.url } });
  expect([response.status, elsewhere.requests.length]).toEqual([307, 0]);
  await Promise.all([elsewhere.stop(), redirecting.stop()]);
});
