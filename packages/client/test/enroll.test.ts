import { generatePrivateJwk, importAgentKey, verificationKeyOf, verifyActorProof } from "@svc/tokens";
import { describe, expect, test } from "vitest";
import { errorOf, fakeClient } from "./support/fake-client.ts";
import { bearerOf, type FakePlane, json, refused } from "./support/fake-plane.ts";

const key = await importAgentKey(await generatePrivateJwk());
const issuer = "https://issuer.test";

function enrolling(plane: FakePlane, outcome: object): void {
  plane.replies.set("GET /.well-known/oauth-authorization-server", () => json(200, { issuer, token_endpoint: "x" }));
  plane.replies.set("POST /v1/identity/enrollments", () =>
    json(201, { enrollment_id: "e-1", challenge: "challenge", expires_at: "2026-01-01T00:00:00.000Z" }),
  );
  plane.replies.set("POST /v1/identity/enrollments/e-1/complete", () => json(200, outcome));
}

const withKey = { identityKey: key, agentName: "planner" };

test("enrolling sends the public key and signs the server's challenge for its issuer", async () => {
  const { svc, plane } = fakeClient(withKey);
  enrolling(plane, { status: "enrolled", agent_id: "id", anchor_version: 1 });
  const outcome = await svc.identity.enroll({ claims: { team: "a" }, principalAssertion: "id-token" });
  expect(outcome).toEqual({ status: "enrolled", agentId: "id", anchorVersion: 1 });
  expect(plane.bodyOf("/v1/identity/enrollments")).toEqual({
    agent: "planner",
    jwk: key.publicJwk,
    claims: { team: "a" },
    principal_assertion: "id-token",
  });
  const proof = String(plane.bodyOf("/v1/identity/enrollments/e-1/complete").proof);
  const options = {
    keysOf: async () => [await verificationKeyOf(key)],
    audience: issuer,
    nowSeconds: Date.now() / 1000,
  };
  expect(await verifyActorProof(proof, { nonce: "challenge" }, options)).toMatchObject({ ok: true });
});

describe("its credential", () => {
  const bearersOf = (plane: FakePlane) =>
    plane.sent.map((request) => [request.url.pathname.split("/").at(-1), bearerOf(request)]);

  test("is the admin bearer", async () => {
    const { svc, plane } = fakeClient(withKey);
    enrolling(plane, { status: "quarantined", reason: "NO_PRINCIPAL" });
    expect(await svc.identity.enroll()).toEqual({ status: "quarantined", reason: "NO_PRINCIPAL" });
    expect(bearersOf(plane)).toEqual([
      ["oauth-authorization-server", ""],
      ["enrollments", "admin-bearer"],
      ["complete", ""],
    ]);
  });

  test("is the enroll token alone where one is given", async () => {
    const { svc, plane } = fakeClient(withKey);
    enrolling(plane, { status: "quarantined", reason: "NO_PRINCIPAL" });
    await svc.identity.enroll({ enrollToken: "once" });
    expect(bearersOf(plane).map(([, bearer]) => bearer)).toEqual(["", "", ""]);
    expect(plane.bodyOf("/v1/identity/enrollments").enroll_token).toBe("once");
  });
});

test("a client without an agent key sends no enrollment", async () => {
  const { svc, plane } = fakeClient();
  expect(await errorOf(svc.identity.enroll())).toBeInstanceOf(TypeError);
  expect(plane.sent).toEqual([]);
});

test("a refused proof is a rejection", async () => {
  const { svc, plane } = fakeClient(withKey);
  enrolling(plane, {});
  plane.replies.set("POST /v1/identity/enrollments/e-1/complete", () => refused(400, "invalid_proof"));
  expect(await errorOf(svc.identity.enroll())).toMatchObject({ name: "ControlPlaneRejected", code: "invalid_proof" });
});
