import { once } from "node:events";
import { createServer } from "node:http";
import { freePort } from "@svc/test-support";
import { exportJWK, generateKeyPair, SignJWT } from "jose";

/** The minimum of an OpenID provider for verifying an ID token. */
export interface Person {
  readonly issuer: string;
  readonly audience: string;
  idToken(nonce: string): Promise<string>;
  stop(): Promise<void>;
}

export async function startPerson(): Promise<Person> {
  const issuer = `http://127.0.0.1:${await freePort()}`;
  const audience = "bench";
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const documents: Readonly<Record<string, object>> = {
    "/.well-known/openid-configuration": {
      issuer,
      jwks_uri: `${issuer}/jwks`,
      authorization_endpoint: `${issuer}/authorize`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["ES256"],
    },
    "/jwks": { keys: [{ ...(await exportJWK(publicKey)), kid: "bench", alg: "ES256", use: "sig" }] },
  };
  const server = createServer((request, response) => {
    const document = documents[request.url ?? ""];
    response.writeHead(document ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(document ?? {}));
  });
  server.listen(Number(new URL(issuer).port), "127.0.0.1");
  await once(server, "listening");
  return {
    issuer,
    audience,
    idToken: (nonce) =>
      new SignJWT({ nonce })
        .setProtectedHeader({ alg: "ES256", kid: "bench" })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject("bench")
        .setIssuedAt()
        .setExpirationTime("300s")
        .sign(privateKey),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
