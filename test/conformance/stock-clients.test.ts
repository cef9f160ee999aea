import { createRemoteJWKSet, jwtVerify } from "jose";
import * as oauth from "oauth4webapi";
import * as client from "openid-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Api } from "./src/api.ts";
import { clerkSession, registerLedger } from "./src/ledger.ts";
import { startOne } from "./src/stack.ts";

let api: Api;
let stop: () => Promise<void>;

beforeAll(async () => {
  ({ api, stop } = await startOne());
  await registerLedger(api, "books");
});
afterAll(() => stop());

const grantType = "urn:ietf:params:oauth:grant-type:token-exchange";

async function parameters() {
  const { session, clerk, hops } = await clerkSession(api, "books");
  const decision = await api.authorize(session, clerk.token, hops.read);
  return {
    session,
    action: decision.body.action_id as string,
    form: {
      subject_token: clerk.token,
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      resource: hops.read.target,
      scope: hops.read.data_class,
      action_id: decision.body.action_id as string,
    },
  };
}

test("openid-client discovers the issuer and completes a token exchange unmodified", async () => {
  const config = await client.discovery(new URL(api.url), "an-agent", undefined, client.None(), {
    algorithm: "oauth2",
    execute: [client.allowInsecureRequests],
  });
  const { form } = await parameters();
  const tokens = await client.genericGrantRequest(config, grantType, form);
  expect(tokens).toMatchObject({ token_type: "bearer", expires_in: 60, issued_token_type: form.subject_token_type });
});

test("oauth4webapi completes a token exchange unmodified", async () => {
  const issuer = new URL(api.url);
  const insecure = { [oauth.allowInsecureRequests]: true } as const;
  const discovered = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
  const server = await oauth.processDiscoveryResponse(issuer, discovered);
  const me: oauth.Client = { client_id: "an-agent" };
  const { form } = await parameters();
  const response = await oauth.genericTokenEndpointRequest(
    server,
    me,
    oauth.None(),
    grantType,
    new URLSearchParams(form),
    insecure,
  );
  const tokens = await oauth.processGenericTokenEndpointResponse(server, me, response);
  expect(tokens.expires_in).toBe(60);
});

test("an exchanged token verifies with a stock JWT library against the published key set", async () => {
  const { form, session, action } = await parameters();
  const { body } = await api.exchangeForm({ grant_type: grantType, ...form });
  const keys = createRemoteJWKSet(new URL(`${api.url}/.well-known/jwks.json`));
  const { payload } = await jwtVerify(body.access_token, keys, {
    issuer: api.url,
    audience: form.resource,
    typ: "at+jwt",
    algorithms: ["ES256"],
  });
  expect(payload).toMatchObject({
    sub: "ada",
    scope: "finance.entries",
    hop: 4,
    sid: session,
    action_id: action,
    taint: "trusted_internal",
    target_kind: "tool",
    privileged: false,
    act: { sub: "clerk-books", act: { sub: "planner-books", act: { sub: "ada" } } },
  });
});
