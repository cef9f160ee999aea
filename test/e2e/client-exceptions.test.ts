import { type AuthzClient, ControlPlaneRejected, ControlPlaneUnavailable, ManifestRejected } from "@svc/client";
import { aTool, type EchoUpstream, type OwnRedis, requires, startEchoUpstream, startOwnRedis } from "@svc/test-support";
import { afterAll, beforeAll, expect } from "vitest";
import {
  bearers,
  type ClientStand,
  clientOf,
  clientOnLine,
  consent,
  errorOf,
  read,
  startClientStand,
} from "./src/client/stand.ts";

const { describe, test } = requires("redis-server");

/** Each exception but a deny, caused by a real control plane, with all members. */
let stand: ClientStand;
let redis: OwnRedis;
let discovery: EchoUpstream;
let svc: AuthzClient;

beforeAll(async () => {
  redis = await startOwnRedis();
  [stand, discovery] = await Promise.all([
    startClientStand({}, redis),
    startEchoUpstream((_request, response) => response.end(JSON.stringify({ tools: [{ ref: read.target }] }))),
  ]);
  svc = clientOf(stand.url);
});
afterAll(async () => {
  await svc?.close();
  await Promise.all([stand?.stop(), discovery?.stop()]);
  await redis?.stop();
});

describe("ControlPlaneUnavailable", () => {
  test("where no server listens", async () => {
    await using on = await clientOnLine(stand);
    const session = await on.svc.consent(consent);
    await on.line.refuse();
    const asks: [() => Promise<unknown>, string][] = [
      [() => on.svc.authorize(session.context(), read), "/v1/authorize"],
      [() => on.svc.consent(consent), "/v1/consent"],
      [() => on.svc.live(), "/livez"],
      [() => on.svc.ready(), "/readyz"],
      [() => on.svc.admin.agents(), "/v1/agents"],
      [() => on.svc.audit.decisions(), "/v1/audit/decisions"],
      [() => on.svc.identity.revocations(), "/v1/identity/revocations"],
    ];
    for (const [ask, path] of asks) {
      const error = await errorOf(ask());
      expect(error).toBeInstanceOf(ControlPlaneUnavailable);
      expect(error).toMatchObject({ fault: "refused", path, status: null, code: null });
    }
  });

  test.each([
    ["an undeclared scope", { ...consent, scope: "nobody's" }, { status: 404, code: "scope_not_found" }],
    ["a policy that changed since", { ...consent, policyVersion: 99 }, { status: 409, code: "policy_version_changed" }],
    ["a lifetime out of bounds", { ...consent, ttlSeconds: 59 }, { status: 400, code: "invalid_request" }],
  ])("for a consent without a 201: %s", async (_name, asked, want) => {
    const error = await errorOf(svc.consent(asked));
    expect(error).toBeInstanceOf(ControlPlaneUnavailable);
    expect(error).toMatchObject({ fault: "status", method: "POST", path: "/v1/consent", ...want });
  });
});

describe("ControlPlaneRejected", () => {
  const unauthorized = { status: 401, code: "unauthorized", details: {} };
  const wrong = (options: object, ask: (client: AuthzClient) => Promise<unknown>) => async () => {
    await using client = clientOf(stand.url, options);
    return await ask(client);
  };
  const strange = "a-token-that-nobody-ever-configured-0123456789";
  const cases: [string, () => Promise<unknown>, Partial<ControlPlaneRejected>][] = [
    ...(["auditToken", "identityToken"] as const).flatMap((plane): [string, () => Promise<unknown>, object][] => {
      const adminToken = bearers[plane];
      const as = `with the ${plane.replace("Token", " reader's bearer")}`;
      return [
        [
          `the admin plane ${as}`,
          wrong({ adminToken }, (c) => c.admin.agents()),
          { ...unauthorized, method: "GET", path: "/v1/agents" },
        ],
        [
          `a consent ${as}`,
          wrong({ adminToken }, (c) => c.consent(consent)),
          { ...unauthorized, method: "POST", path: "/v1/consent" },
        ],
        [
          `a revocation ${as}`,
          wrong({ adminToken }, (c) => c.identity.revoke(crypto.randomUUID())),
          { ...unauthorized, method: "POST" },
        ],
      ];
    }),
    [
      "the audit plane with the identity reader's bearer",
      wrong({ auditToken: bearers.identityToken }, (c) => c.audit.decisions()),
      { ...unauthorized, method: "GET", path: "/v1/audit/decisions" },
    ],
    [
      "the identity plane with a bearer of no plane",
      wrong({ identityToken: strange }, (c) => c.identity.of("planner")),
      { ...unauthorized, method: "GET", path: "/v1/identity/agents/planner" },
    ],
    [
      "a manifest of an unregistered agent",
      () =>
        svc.admin.submitManifest({
          agent: "ghost",
          manifest: { scopes: { expenses: { hop_budget: 2 } } },
          overrideReason: "x",
        }),
      { status: 404, code: "agent_not_found", method: "POST", path: "/v1/manifests", details: {} },
    ],
    [
      "an unknown action",
      () => svc.audit.chain(crypto.randomUUID()),
      { status: 404, code: "action_not_found", method: "GET" },
    ],
    [
      "an invalid query",
      () => svc.audit.decisions({ limit: 0 }),
      { status: 400, code: "invalid_request", path: "/v1/audit/decisions" },
    ],
  ];

  test.each(cases)("for %s", async (_name, provoke, want) => {
    const error = (await errorOf(provoke())) as ControlPlaneRejected;
    expect(error).toBeInstanceOf(ControlPlaneRejected);
    expect(error).not.toBeInstanceOf(ControlPlaneUnavailable);
    const { details: _details, ...exact } = want;
    expect(error).toMatchObject({ name: "ControlPlaneRejected", ...exact });
    expect(error.details).toBeTypeOf("object");
    expect(error.message).not.toBe("");
    for (const secret of [...Object.values(bearers), strange]) expect(String(error)).not.toContain(secret);
  });

  test("for a context whose token another process spent, which spends no further token", async () => {
    await using other = clientOf(stand.url);
    const session = await svc.consent(consent);
    await other.authorize(session.context(), read);
    const error = await errorOf(svc.authorize(session.context(), read));
    expect(error).toMatchObject({
      name: "ControlPlaneRejected",
      status: 401,
      code: "unauthorized",
      path: "/v1/token/renew",
    });
  });
});

describe("ManifestRejected", () => {
  const exceeding = () => ({
    discovery: { kind: "http", url: discovery.url } as const,
    scopes: { travel: { hop_budget: 2, tools: [aTool("http:ledger/drop")] } },
  });
  const undiscovered = { scopes: { travel: { hop_budget: 2, tools: [aTool(read.target)] } } };

  test("422: it exceeds the discovered tools; a remedy for each tool", async () => {
    const error = (await errorOf(
      svc.admin.registerAgent({ name: "greedy", manifest: exceeding() }),
    )) as ManifestRejected;
    expect(error).toBeInstanceOf(ManifestRejected);
    expect(error).toBeInstanceOf(ControlPlaneRejected);
    expect(error).toMatchObject({
      name: "ManifestRejected",
      status: 422,
      code: "reconciliation_rejected",
      needsReview: false,
    });
    expect(error).toMatchObject({ method: "POST", path: "/v1/agents", details: { diff: expect.any(Array) } });
    expect(error.diff).toEqual([
      expect.objectContaining({ ref: "http:ledger/drop", kind: "exceeds", remedy: expect.any(String) }),
    ]);
    expect(error.remedies()).toEqual([`http:ledger/drop: ${error.diff[0]?.remedy}`]);
    // An override accepts missing capabilities, never contradicting ones.
    const again = svc.admin.registerAgent({ name: "greedy", manifest: exceeding(), overrideReason: "let me" });
    expect(await errorOf(again)).toMatchObject({ status: 422, needsReview: false });
  });

  test("409: discovery failed; submitted again with a reason it is accepted", async () => {
    const error = (await errorOf(
      svc.admin.registerAgent({ name: "unseen", manifest: undiscovered }),
    )) as ManifestRejected;
    expect(error).toBeInstanceOf(ManifestRejected);
    expect(error).toMatchObject({ status: 409, code: "needs_review", needsReview: true });
    expect(error.remedies()).toEqual([expect.stringMatching(/^http:ledger\/read: ./)]);
    const accepted = svc.admin.registerAgent({
      name: "unseen",
      manifest: undiscovered,
      overrideReason: "looked at it",
    });
    expect(await accepted).toMatchObject({ manifestVersion: 1, status: "attested" });
    const { agentId } = await accepted;
    expect(await svc.admin.reconciliation(agentId)).toMatchObject({ attestation: { reason: "looked at it" } });
  });
});

test("while the cache store is down, readiness and an exchange throw ControlPlaneUnavailable, and no token is issued", async () => {
  const session = await svc.consent(consent);
  await svc.authorize(session.context(), read);
  await redis.kill();
  expect(await errorOf(svc.ready())).toMatchObject({ name: "ControlPlaneUnavailable", path: "/readyz", status: 503 });
  const error = await errorOf(svc.authorize(session.context(), read));
  expect(error).toMatchObject({
    name: "ControlPlaneUnavailable",
    path: "/v1/token/exchange",
    status: 503,
    code: "invalid_grant",
  });
  await svc.live();
});
