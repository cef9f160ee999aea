import type { AuthzClient } from "@svc/client";
import { startIdentityProvider } from "@svc/test-conformance/identity-provider";
import { generatePrivateJwk, importAgentKey, type PrivateJwk } from "@svc/tokens";
import { createVerifier, type Verifier } from "@svc/verifier";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  bearers,
  type ClientStand,
  clientOf,
  clientOnLine,
  consent,
  planner,
  post,
  read,
  startClientStand,
} from "./src/client/stand.ts";

let stand: ClientStand;
let provider: Awaited<ReturnType<typeof startIdentityProvider>>;
let keyed: AuthzClient;
let identityKey: PrivateJwk;
let verifier: Verifier;

beforeAll(async () => {
  provider = await startIdentityProvider();
  stand = await startClientStand({
    SVC_IDENTITY_REQUIRED: "true",
    SVC_IDP_ISSUER: provider.issuer,
    SVC_IDP_AUDIENCE: provider.audience,
  });
  identityKey = await generatePrivateJwk();
  keyed = clientOf(stand.url, { identityKey, agentName: "planner" });
  verifier = createVerifier({
    issuer: stand.url,
    audience: [read.target, post.target],
    jwksUrl: `${stand.url}/.well-known/jwks.json`,
    identityView: { url: stand.url, token: bearers.identityToken },
    identityRequired: true,
  });
});
afterAll(async () => {
  verifier?.close();
  await keyed?.close();
  await Promise.all([stand?.stop(), provider?.stop()]);
});

const params = { amount: 5 };

describe("a client with an agent key", () => {
  test("enrolls its agent with a person's assertion", async () => {
    const { kid } = await importAgentKey(identityKey);
    const principalAssertion = await provider.idToken("ada", kid);
    expect(await keyed.identity.enroll({ principalAssertion })).toMatchObject({ status: "enrolled", anchorVersion: 1 });
    expect(await keyed.identity.of("planner")).toMatchObject({ agent: "planner", status: "enrolled", revoked: false });
  });

  test("sends a new proof of possession with every exchange, and an identity assertion to the target", async () => {
    await using on = await clientOnLine(stand, { identityKey, agentName: "planner" });
    const [, context] = await on.svc.hop((await on.svc.consent(consent)).context(), planner);
    const grants = [await on.svc.authorize(context, read), await on.svc.authorize(context, { ...post, params })];
    const forms = on.line
      .sent()
      .toString("latin1")
      .matchAll(/subject_token=\S+/g);
    const proofs = [...forms].map(([form]) => new URLSearchParams(form).get("actor_token"));
    expect(proofs).toEqual(Array(3).fill(expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/)));
    expect(new Set(proofs).size).toBe(3);
    for (const grant of grants) {
      expect(grant.headers()).toHaveProperty("Agent-Identity", grant.identityAssertion);
      const sent = { headers: grant.headers(), dataClass: read.dataClass, params };
      expect(await verifier.admit(sent)).toMatchObject({ caller: "planner", agent: "planner" });
    }
  });

  test("is refused where it signs with another key", async () => {
    await using other = clientOf(stand.url, { identityKey: await generatePrivateJwk(), agentName: "planner" });
    const { context } = await other.consent(consent);
    await expect(other.authorize(context(), read)).rejects.toMatchObject({
      name: "ControlPlaneRejected",
      code: expect.stringMatching(/invalid_request|unauthorized/),
    });
  });
});

test("a client without a key takes no hop where identity is required", async () => {
  await using bare = clientOf(stand.url);
  const { context } = await bare.consent(consent);
  await expect(bare.authorize(context(), read)).rejects.toMatchObject({
    name: "ControlPlaneRejected",
    path: "/v1/token/renew",
    status: 400,
  });
});
