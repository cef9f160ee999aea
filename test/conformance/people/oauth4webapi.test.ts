import { aTool } from "@svc/test-support";
import * as oauth from "oauth4webapi";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type PeopleStack, redirectUri, resource, startPeopleStack } from "../src/people-stack.ts";

let stack: PeopleStack;
beforeAll(async () => {
  stack = await startPeopleStack();
  await stack.register("planner", { expenses: { hop_budget: 3, tools: [aTool("http:ledger/read")] } });
});
afterAll(() => stack.stop());

test("oauth4webapi completes the code flow, a refresh and a revocation unmodified", async () => {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(stack.issuer);
  const discovered = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
  const server = await oauth.processDiscoveryResponse(issuer, discovered);
  const client = { client_id: "notebook" };
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const url = new URL(server.authorization_endpoint ?? "");
  url.search = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: "expenses",
    resource,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  }).toString();
  const ada = stack.browser("ada");
  const back = await ada.submit(await ada.visit(url), { answer: "allow" });

  // It insists on `iss`, since the metadata says that every answer has it (RFC 9207).
  const answer = oauth.validateAuthResponse(server, client, back.url, state);
  const none = oauth.None();
  const granted = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    none,
    answer,
    redirectUri,
    verifier,
    insecure,
  );
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, granted);
  expect(await stack.redeem(tokens.access_token)).toMatchObject({ status: 200 });

  const refresh = tokens.refresh_token ?? "";
  const renewed = await oauth.refreshTokenGrantRequest(server, client, none, refresh, insecure);
  const next = await oauth.processRefreshTokenResponse(server, client, renewed);
  expect(next.refresh_token).not.toBe(refresh);

  await oauth.processRevocationResponse(
    await oauth.revocationRequest(server, client, none, next.refresh_token ?? "", insecure),
  );
  expect(await stack.redeem(next.access_token)).toMatchObject({ status: 404 });
});
