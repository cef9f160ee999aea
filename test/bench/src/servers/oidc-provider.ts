import { createServer } from "node:http";
import { exportJWK, generateKeyPair } from "jose";
import { Provider } from "oidc-provider";
import { listen } from "./listen.ts";

/** Issues ES256 access tokens for a resource server, with the in-memory adapter. */
const { privateKey } = await generateKeyPair("ES256", { extractable: true });
const port = process.env.PORT ?? "";
const resourceServer = {
  scope: "bench",
  audience: "http:bench/read",
  accessTokenFormat: "jwt",
  accessTokenTTL: 60,
} as const;

const provider = new Provider(`http://127.0.0.1:${port}`, {
  jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: "ES256", use: "sig" }] },
  clients: [
    {
      client_id: "bench",
      client_secret: "a-secret-of-the-benchmark",
      grant_types: ["client_credentials"],
      redirect_uris: [],
      response_types: [],
      id_token_signed_response_alg: "ES256",
      token_endpoint_auth_method: "client_secret_post",
    },
  ],
  scopes: ["bench"],
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => "urn:bench",
      getResourceServerInfo: () => ({ ...resourceServer, jwt: { sign: { alg: "ES256" } } }),
    },
  },
});
listen(createServer(provider.callback()));
