import { type OpenIdProvider, startOpenIdProvider } from "@svc/test-support/openid-provider";
import * as client from "openid-client";

/** A real OpenID provider on loopback that signs ID tokens for any login. */
export interface IdentityProvider extends OpenIdProvider {
  readonly audience: string;
  /** Logs a person in by the authorization code flow and returns the ID token with this `nonce`. */
  idToken(person: string, nonce: string): Promise<string>;
}

const clientId = "agent-enrollment";
const redirectUri = "https://workstation.test/callback";

export async function startIdentityProvider(
  moreClients: Parameters<typeof startOpenIdProvider>[0]["clients"] = [],
): Promise<IdentityProvider> {
  const provider = await startOpenIdProvider({
    clients: [
      { client_id: clientId, redirect_uris: [redirectUri], token_endpoint_auth_method: "none" },
      ...moreClients,
    ],
  });
  const { issuer } = provider;
  const config = await client.discovery(new URL(issuer), clientId, undefined, client.None(), {
    execute: [client.allowInsecureRequests],
  });
  return {
    ...provider,
    audience: clientId,
    async idToken(person, nonce) {
      const verifier = client.randomPKCECodeVerifier();
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: "openid",
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
      });
      const callback = await provider.logIn(url, person);
      const tokens = await client.authorizationCodeGrant(config, callback, {
        pkceCodeVerifier: verifier,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      return tokens.id_token ?? "";
    },
  };
}
