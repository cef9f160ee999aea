import { describe, expect, test } from "vitest";
import { type AuthzClient, ControlPlaneRejected, ControlPlaneUnavailable, ManifestRejected } from "../src/index.ts";
import { errorOf, fakeClient } from "./support/fake-client.ts";
import { bearerOf, type FakePlane, json, refused } from "./support/fake-plane.ts";
import { adminRows, manifest } from "./support/plane-rows/admin.ts";
import { auditRows, row } from "./support/plane-rows/audit.ts";
import { identityRows } from "./support/plane-rows/identity.ts";
import type { Row } from "./support/plane-rows/shared.ts";

const clientOf = ({ route, response: [status, body] }: Row): { svc: AuthzClient; plane: FakePlane } => {
  const { svc, plane } = fakeClient();
  plane.replies.set(route, () => json(status, body));
  return { svc, plane };
};

describe.each([...adminRows, ...auditRows, ...identityRows])("$name", (want) => {
  test("calls its route with its plane's bearer and returns the body", async () => {
    const { svc, plane } = clientOf(want);
    expect(await want.call(svc)).toEqual(want.want);
    const [sent] = plane.sent;
    expect(Object.fromEntries(sent?.url.searchParams ?? [])).toEqual(want.query ?? {});
    expect(sent?.body === "" ? undefined : JSON.parse(sent?.body ?? "")).toEqual(want.body);
    expect(sent && bearerOf(sent)).toBe(want.bearer);
  });

  test("a body of another shape is unavailable", async () => {
    const { svc } = clientOf({ ...want, response: [want.response[0], { data: 5 }] });
    expect(await errorOf(want.call(svc))).toMatchObject({ name: "ControlPlaneUnavailable", fault: "malformed" });
  });

  test.each<[string, Response, typeof ControlPlaneRejected | typeof ControlPlaneUnavailable, object]>([
    ["401", refused(401, "unauthorized"), ControlPlaneRejected, { status: 401, code: "unauthorized" }],
    [
      "401 of a proxy",
      new Response("<html>", { status: 401 }),
      ControlPlaneRejected,
      { status: 401, code: "unauthorized" },
    ],
    [
      "404",
      refused(404, "agent_not_found", { x: 1 }),
      ControlPlaneRejected,
      { status: 404, code: "agent_not_found", message: "refused: agent_not_found", details: { x: 1 } },
    ],
    ["404 of a proxy", new Response("<html>", { status: 404 }), ControlPlaneUnavailable, { status: 404, code: null }],
    ["429", refused(429, "rate_limited"), ControlPlaneUnavailable, { status: 429, code: "rate_limited" }],
    ["503", refused(503, "database_unavailable"), ControlPlaneUnavailable, { status: 503, fault: "status" }],
    [
      "a redirect",
      new Response(null, { status: 302, headers: { location: "/" } }),
      ControlPlaneUnavailable,
      { status: 302 },
    ],
  ])("distinguishes a rejection from an outage: %s", async (_, reply, kind, facts) => {
    const { svc, plane } = fakeClient();
    plane.replies.set(want.route, () => reply);
    const [method = "", path = ""] = want.route.split(" ");
    const error = await errorOf(want.call(svc));
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ method, path, ...facts });
    for (const secret of ["admin-bearer", "audit-bearer", "identity-bearer"]) {
      expect(JSON.stringify(error) + String(error)).not.toContain(secret);
    }
  });
});

describe("a manifest that is refused", () => {
  const diff = [
    { ref: "http:ledger/post", kind: "exceeds", field: "tools", declared: "x", discovered: null, remedy: "Remove it." },
    {
      ref: "http:ledger/read",
      kind: "conflicts",
      field: "access",
      declared: "read",
      discovered: "write",
      remedy: "Say so.",
    },
  ];
  test.each([
    [422, "reconciliation_rejected", false],
    [409, "needs_review", true],
  ])("%i %s: the diff and its remedies", async (status, code, needsReview) => {
    for (const ask of [
      (svc: AuthzClient) => svc.admin.registerAgent({ name: "planner", manifest }),
      (svc: AuthzClient) => svc.admin.submitManifest({ agent: "planner", manifest }),
    ]) {
      const { svc, plane } = fakeClient();
      for (const route of ["POST /v1/agents", "POST /v1/manifests"])
        plane.replies.set(route, () => refused(status, code, { diff }));
      const error = await errorOf(ask(svc));
      expect(error).toBeInstanceOf(ManifestRejected);
      expect(error).toBeInstanceOf(ControlPlaneRejected);
      expect(error).toMatchObject({ name: "ManifestRejected", status, code, diff, needsReview });
      expect((error as ManifestRejected).remedies()).toEqual([
        "http:ledger/post: Remove it.",
        "http:ledger/read: Say so.",
      ]);
    }
  });

  test("for another cause is a plain rejection", async () => {
    const { svc, plane } = fakeClient();
    plane.replies.set("POST /v1/agents", () => refused(409, "agent_exists"));
    const error = await errorOf(svc.admin.registerAgent({ name: "planner", manifest }));
    expect(error).not.toBeInstanceOf(ManifestRejected);
    expect(error).toMatchObject({ name: "ControlPlaneRejected", code: "agent_exists" });
  });
});

describe("allDecisions", () => {
  const pages = (plane: FakePlane) =>
    plane.replies.set("GET /v1/audit/decisions", ({ url }) => {
      const page = Number(url.searchParams.get("cursor") ?? 0);
      const data = [
        { ...row, action_id: `a${page}-1` },
        { ...row, action_id: `a${page}-2` },
      ];
      return json(200, { data, page: { next_cursor: page < 2 ? String(page + 1) : null, limit: 2 } });
    });

  test("reads the pages of the same filters as the loop needs them", async () => {
    const { svc, plane } = fakeClient();
    pages(plane);
    const actions: string[] = [];
    for await (const { actionId } of svc.audit.allDecisions({ outcome: "deny", limit: 2 })) actions.push(actionId);
    expect(actions).toEqual(["a0-1", "a0-2", "a1-1", "a1-2", "a2-1", "a2-2"]);
    expect(plane.sent.map(({ url }) => url.search)).toEqual([
      "?outcome=deny&limit=2",
      "?outcome=deny&limit=2&cursor=1",
      "?outcome=deny&limit=2&cursor=2",
    ]);
  });

  test("reads no page that the loop does not need", async () => {
    const { svc, plane } = fakeClient();
    pages(plane);
    for await (const _ of svc.audit.allDecisions()) break;
    expect(plane.sent).toHaveLength(1);
  });
});

test.each<[string, (svc: AuthzClient) => Promise<void>]>([
  ["DELETE /v1/blocks/scope/a%20b", (svc) => svc.admin.liftBlock({ kind: "scope", ref: "a b" })],
  ["DELETE /v1/keys/-k", (svc) => svc.admin.removeKey("-k")],
])("%s: only 204 is a success", async (route, ask) => {
  const { svc, plane } = fakeClient();
  plane.replies.set(route, () => new Response(null, { status: 204 }));
  expect(await ask(svc)).toBeUndefined();
  expect(plane.sent.map((sent) => [bearerOf(sent), sent.body])).toEqual([["admin-bearer", ""]]);
  plane.replies.set(route, () => refused(404, "key_not_found"));
  expect(await errorOf(ask(svc))).toBeInstanceOf(ControlPlaneRejected);
  plane.replies.set(route, () => json(200, {}));
  expect(await errorOf(ask(svc))).toMatchObject({ name: "ControlPlaneUnavailable", status: 200 });
});

test("the audit bearer defaults to admin's, the identity bearer to audit's", async () => {
  const bearersWith = async (options: object) => {
    const { svc, plane } = fakeClient({
      adminToken: undefined,
      auditToken: undefined,
      identityToken: undefined,
      ...options,
    });
    await Promise.allSettled([svc.admin.agents(), svc.audit.decisions(), svc.identity.revocations()]);
    return plane.sent.map(bearerOf);
  };
  expect(await bearersWith({ adminToken: "a" })).toEqual(["a", "a", "a"]);
  expect(await bearersWith({ adminToken: "a", auditToken: "b" })).toEqual(["a", "b", "b"]);
  expect(await bearersWith({ adminToken: "a", identityToken: "c" })).toEqual(["a", "a", "c"]);
  expect(await bearersWith({})).toEqual(["", "", ""]);
});

test.each(["", ".", "..", "\ud800"])("the name %o is rejected, since it could change the path", async (name) => {
  const { svc, plane } = fakeClient();
  for (const ask of [
    () => svc.admin.manifest(name),
    () => svc.admin.scopeCatalog(name),
    () => svc.audit.chain(name),
    () => svc.identity.of(name),
    () => svc.identity.revoke(name),
  ]) {
    expect(await errorOf(ask())).toBeInstanceOf(TypeError);
  }
  expect(plane.sent).toEqual([]);
});
