import { aManifest } from "@svc/test-support";
import { generatePrivateJwk, importAgentKey } from "@svc/tokens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IdentityProviderUnavailable } from "../src/ports/identity-provider.ts";
import { query, registerAgent, startPlane, tokens } from "./support.ts";

let plane: Awaited<ReturnType<typeof startPlane>>;
const key = await importAgentKey(await generatePrivateJwk());

beforeAll(async () => {
  plane = await startPlane();
  await registerAgent(plane, "clerk", aManifest("books"));
});
afterAll(() => plane.stop());

const unknownId = "01900000-0000-7000-8000-000000000000";
const enrollments = "/v1/identity/enrollments";

const bearers = { ...tokens, unknown: "x".repeat(40), none: "" };

test("completing an enrollment needs no bearer, and ignores one that is sent", async () => {
  for (const token of Object.values(bearers)) {
    const answer = await plane.send(`${enrollments}/${unknownId}/complete`, { token, body: { proof: "x" } });
    expect(answer).toMatchObject({ status: 404, json: { error: { code: "enrollment_not_found" } } });
  }
});

test("the OpenAPI document shows the bearer of an enrollment and the body of a revocation as optional", async () => {
  const { json } = await plane.send("/openapi.json");
  expect(json.paths?.[enrollments]?.post?.security).toEqual([{ admin: [] }, {}]);
  expect(json.paths?.["/v1/agents/{agent_id}/revoke"]?.post?.requestBody?.required).toBe(false);
});

test.each([
  ["with an assertion", { principal_assertion: "x.y.z" }, "NO_IDENTITY_PROVIDER"],
  ["without an assertion", {}, "NO_PRINCIPAL"],
])("without a configured identity provider an enrollment %s is quarantined", async (_case, more, reason) => {
  const begun = await plane.send(enrollments, { body: { agent: "clerk", jwk: key.publicJwk, ...more } });
  const [row] = await query<{ quarantine_reason: string }>(
    plane.database.ownerUrl,
    "select quarantine_reason from enrollment where enrollment_id = $1",
    [String(begun.json.enrollment_id)],
  );
  expect(row?.quarantine_reason).toBe(reason);
});

test("an enroll token cannot quarantine its agent where no identity provider is configured", async () => {
  const issued = await plane.send("/v1/identity/enroll-tokens", { body: { agent: "clerk" } });
  const body = { agent: "clerk", jwk: key.publicJwk, enroll_token: issued.json.enroll_token };
  const answer = await plane.send(enrollments, { token: "", body });
  expect(answer).toMatchObject({ status: 400, json: { error: { code: "invalid_request" } } });
  expect(answer.text).toContain("SVC_IDP_ISSUER");
});

test("an enrollment while the identity provider is unreachable is 503 with Retry-After, and does not spend the enroll token", async () => {
  const down = plane.with({
    identityProvider: {
      principalOf: async () => {
        throw new IdentityProviderUnavailable("the address of the provider");
      },
    },
  });
  const issued = await plane.send("/v1/identity/enroll-tokens", { body: { agent: "clerk" } });
  const sent = {
    token: "",
    body: {
      agent: "clerk",
      jwk: key.publicJwk,
      principal_assertion: "x.y.z",
      enroll_token: issued.json.enroll_token,
    },
  };
  const answer = await down.send(enrollments, sent);
  expect(answer).toMatchObject({ status: 503, json: { error: { code: "identity_provider_unavailable" } } });
  expect(answer.headers.get("retry-after")).toBe("1");
  expect(answer.text).not.toContain("address");
  const up = plane.with({ identityProvider: { principalOf: async () => undefined } });
  expect((await up.send(enrollments, sent)).status).toBe(201);
});

describe("the database keeps records of identity append-only", () => {
  test.each([
    "delete from enroll_token",
    "update enroll_token set expires_at = now()",
    "truncate enroll_token cascade",
  ])("%s", async (statement) => {
    await plane.send("/v1/identity/enroll-tokens", { body: { agent: "clerk" } });
    await expect(query(plane.database.appUrl, statement)).rejects.toThrow(/permission denied/);
    await expect(query(plane.database.ownerUrl, statement)).rejects.toThrow(/append-only/);
  });

  test("an enrollment without an actor, or with neither a principal nor a quarantine reason, is rejected", async () => {
    const { json } = await plane.send("/v1/agents/resolve?name=clerk");
    const insert = (columns: string, values: string) =>
      query(
        plane.database.appUrl,
        `insert into enrollment (enrollment_id, agent_id, jwk, thumbprint, challenge, begun_at, expires_at${columns})
         values (gen_random_uuid(), '${json.agent_id}', '{}', 't', 'c', now(), now()${values})`,
      );
    await expect(insert(", quarantine_reason", ", 'NO_PRINCIPAL'")).rejects.toThrow(/somebody_vouches/);
    await expect(insert(", begun_by", ", 'admin'")).rejects.toThrow(/a_principal_or_a_reason/);
    await expect(insert(", begun_by, principal_issuer", ", 'admin', 'i'")).rejects.toThrow(/a_principal_is_whole/);
  });
});
