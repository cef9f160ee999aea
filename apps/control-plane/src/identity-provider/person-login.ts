import { userSub } from "@svc/core";
import { sha256Base64url } from "@svc/tokens";
import type * as OpenIdClient from "openid-client";
import type { Clock } from "../ports/clock.ts";
import { IdentityProviderUnavailable } from "../ports/identity-provider.ts";
import type { Login, LoginEnd, PersonLogin } from "../ports/person-login.ts";
import { singleFlight } from "../ports/single-flight.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import { claimTexts, personText } from "./claims.ts";
import { faultOf } from "./login-faults.ts";

export interface PersonLoginSettings {
  readonly issuer: URL;
  readonly clientId: string;
  /** Undefined for a public client. */
  readonly clientSecret: string | undefined;
  /** Where the provider sends the browser back to. */
  readonly callback: URL;
  /** The claim that gives roles; undefined if no role is configured. */
  readonly rolesClaim: string | undefined;
  readonly clock: Clock;
  readonly fetch?: typeof globalThis.fetch;
}

/** `openid-client`, and the provider as it was discovered. */
interface Discovered {
  readonly client: typeof OpenIdClient;
  readonly config: OpenIdClient.Configuration;
  readonly atMs: number;
}

const discoveryValidMs = 3_600_000;

/** People's logins by authorization code with PKCE (OpenID Connect Core 1.0 section 3.1, RFC 7636, RFC 9207). */
export function personLogin(settings: PersonLoginSettings): PersonLogin {
  let known: Discovered | undefined;
  const discoverOnce = singleFlight(async () => {
    known = await discover(settings);
    return known;
  });
  const discovered = async (): Promise<Discovered> =>
    known !== undefined && settings.clock.nowMs() - known.atMs < discoveryValidMs ? known : discoverOnce();
  return {
    async begin({ again }) {
      const { client, config } = await discovered();
      const login = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
      };
      const address = client.buildAuthorizationUrl(config, {
        redirect_uri: settings.callback.href,
        scope: scopesOf(config.serverMetadata(), settings.rolesClaim),
        state: login.state,
        nonce: login.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(login.verifier),
        code_challenge_method: "S256",
        ...(again && { prompt: "login" }),
      });
      return { ...login, address };
    },
    async complete(query, login) {
      const found = await discovered();
      try {
        return await completeLogin(found, query, login, settings);
      } catch (error) {
        return faultOf(found.client, error);
      }
    },
  };
}

async function discover({ issuer, clientId, clientSecret, clock, fetch }: PersonLoginSettings): Promise<Discovered> {
  try {
    const client = await import("openid-client");
    const config = await client.discovery(issuer, clientId, {}, clientAuth(client, clientSecret), {
      [client.customFetch]: boundedFetch(fetch ?? globalThis.fetch),
      execute: [
        client.enableNonRepudiationChecks,
        ...(issuer.protocol === "http:" ? [client.allowInsecureRequests] : []),
      ],
    });
    return { client, config, atMs: clock.nowMs() };
  } catch (cause) {
    throw new IdentityProviderUnavailable("the identity provider could not be discovered", { cause });
  }
}

/** OpenID Connect Discovery 1.0 section 3: without a list, `client_secret_basic`. */
function clientAuth(client: typeof OpenIdClient, secret: string | undefined): OpenIdClient.ClientAuth {
  if (secret === undefined) return client.None();
  const basic = client.ClientSecretBasic(secret);
  const post = client.ClientSecretPost(secret);
  return (server, ...request) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    return (methods.includes("client_secret_basic") ? basic : post)(server, ...request);
  };
}

/** Those that the provider lists. A scope named as the claim gives it, at providers that have one. */
function scopesOf({ scopes_supported: listed }: OpenIdClient.ServerMetadata, rolesClaim: string | undefined): string {
  const wanted = ["profile", "email"].filter((scope) => listed === undefined || listed.includes(scope));
  return ["openid", ...wanted, ...(listed ?? []).filter((scope) => scope === rolesClaim)].join(" ");
}

async function completeLogin(
  { client, config }: Discovered,
  query: URLSearchParams,
  { state, nonce, verifier }: Login,
  { callback, rolesClaim }: PersonLoginSettings,
): Promise<LoginEnd> {
  const address = new URL(callback);
  address.search = query.toString();
  const tokens = await client.authorizationCodeGrant(config, address, {
    expectedState: state,
    expectedNonce: nonce,
    pkceCodeVerifier: verifier,
    idTokenExpected: true,
  });
  const idClaims = tokens.claims();
  if (idClaims === undefined || tokens.id_token === undefined) throw new TypeError("the ID token is missing");
  const subject = userSub.safeParse(idClaims.sub).data;
  if (subject === undefined) return { kind: "invalid", cause: new TypeError("the subject is no plain text") };
  const needed = ["name", "email", ...(rolesClaim === undefined ? [] : [rolesClaim])];
  const isWhole = needed.every((claim) => claimTexts(idClaims, claim).length > 0);
  const hasMore = !isWhole && config.serverMetadata().userinfo_endpoint !== undefined;
  const more = hasMore ? await client.fetchUserInfo(config, tokens.access_token, idClaims.sub) : {};
  const claims: Readonly<Record<string, unknown>> = { ...more, ...idClaims };
  return {
    kind: "person",
    issuer: idClaims.iss,
    subject,
    name: personText(claims.name) ?? personText(claims.preferred_username),
    email: personText(claims.email),
    groups: rolesClaim === undefined ? [] : claimTexts(claims, rolesClaim),
    idTokenHash: sha256Base64url(tokens.id_token),
  };
}
