import { createMigratedDatabase, freePort, startControlPlane, startOwnRedis, testBearers } from "@svc/test-support";
import { signInClient, signInSettings, startOpenIdProvider } from "@svc/test-support/openid-provider";
import * as client from "openid-client";
import { createApi, type Hop } from "./api.ts";
import { type PersonBrowser, personBrowser, type Shown } from "./person.ts";

/** A resource that the control planes of these tests know, and one of their clients. */
export const resource = "https://tools.test/ledger";
export const redirectUri = "https://notebook.test/callback";
export const enforcementToken = testBearers.enforcement;

const signalsToken = "provider-signals-token-0123456789abcdef";
const signalsAudience = "https://authz.test/signals";

export const notebook = {
  client_id: "notebook",
  client_name: "Notebook",
  redirect_uris: [redirectUri, "http://127.0.0.1/callback"],
};

const backendSecret = "the-secret-of-the-backend-in-the-tests";
const backend = { ...notebook, client_id: "backend", client_name: "Backend", client_secret: backendSecret };

/** Names no scope in its requests. */
const suite = { ...notebook, client_id: "suite", client_name: "Conformance suite", scope: "expenses" };

export type PeopleStack = Awaited<ReturnType<typeof startPeopleStack>>;

/** Two control planes of one issuer, whose people sign in with a real OpenID provider. */
export async function startPeopleStack(env: Readonly<Record<string, string>> = {}) {
  const [database, redis, port] = await Promise.all([createMigratedDatabase(), startOwnRedis(), freePort()]);
  const issuer = `http://127.0.0.1:${port}`;
  const provider = await startOpenIdProvider({ clients: [signInClient()] });
  const settings = {
    ...signInSettings(provider),
    SVC_ISSUER: issuer,
    SVC_OAUTH_CLIENTS: JSON.stringify([notebook, backend, suite]),
    SVC_OAUTH_RESOURCES: "https://tools.test/",
    SVC_ENFORCEMENT_TOKEN: `gateway=${enforcementToken}`,
    SVC_SIGNALS_AUDIENCE: signalsAudience,
    SVC_SIGNALS_TOKEN: signalsToken,
    ...env,
  };
  const one = await startControlPlane({ database, redis }, { ...settings, PORT: String(port) });
  const other = await startControlPlane({ database, redis }, settings);
  const [api, otherApi] = [one, other].map(({ url }) => createApi(url, testBearers)) as [
    ReturnType<typeof createApi>,
    ReturnType<typeof createApi>,
  ];
  return {
    issuer,
    provider,
    api,
    otherApi,
    database,
    backendSecret,
    browser: (person: string): PersonBrowser => personBrowser(issuer, provider, person),
    /** An identity assertion of the provider for the client `notebook`. */
    assertion: (): Promise<string> =>
      provider.sign("oauth-id-jag+jwt", {
        iss: provider.issuer,
        iat: Math.floor(Date.now() / 1_000),
        sub: "ada",
        aud: issuer,
        client_id: notebook.client_id,
        jti: crypto.randomUUID(),
        exp: Math.floor(Date.now() / 1_000) + 300,
      }),
    /** A security event token of the provider: this account was disabled. */
    accountDisabled: (sub: string): Promise<string> =>
      provider.sign("secevent+jwt", {
        iss: provider.issuer,
        aud: signalsAudience,
        iat: Math.floor(Date.now() / 1_000),
        jti: crypto.randomUUID(),
        sub_id: { format: "iss_sub", iss: provider.issuer, sub },
        events: { "https://schemas.openid.net/secevent/risc/event-type/account-disabled": { reason: "hijacking" } },
      }),
    /** As the provider delivers it (RFC 8935). */
    deliver: (body: string, to = api) => {
      const headers = { authorization: `Bearer ${signalsToken}`, "content-type": "application/secevent+jwt" };
      return to.call("POST", "/v1/signals/events", { raw: { method: "POST", headers, body } });
    },
    /** Registers an agent that is attested. */
    async register(agent: string, scopes: Record<string, unknown>): Promise<void> {
      const { status, text } = await api.attest(agent, scopes);
      if (status !== 201) throw new Error(text);
    },
    /** As an enforcement point does. */
    redeem: (handle: string, at = resource, from = api) =>
      from.call("POST", "/v1/handles/redeem", { bearer: enforcementToken, body: { handle, resource: at } }),
    beside: (token: string) => api.call("POST", "/v1/session/consents", { bearer: enforcementToken, body: { token } }),
    /** Newest first. */
    async events(kind: string, sessionId?: string) {
      const filter = sessionId === undefined ? "" : `&session_id=${sessionId}`;
      const { body } = await api.call("GET", `/v1/audit/events?kind=${kind}${filter}`, { bearer: testBearers.audit });
      return body.data as { actor: string; agent: string | null; reason: string | null; details: object }[];
    },
    stop: async () => {
      await Promise.all([one.stop(), other.stop(), provider.stop()]);
      await Promise.all([redis.stop(), database.drop()]);
    },
  };
}

/** The members of an answer at the client's redirect address. */
export const answerIn = ({ url }: Pick<Shown, "url">): Record<string, string> => Object.fromEntries(url.searchParams);

/** A stock client of the authorization server, as its metadata configures it. */
export async function stockClient(
  { issuer }: Pick<PeopleStack, "issuer">,
  clientId = "notebook",
  authentication: client.ClientAuth = client.None(),
) {
  const config = await client.discovery(new URL(issuer), clientId, undefined, authentication, {
    algorithm: "oauth2",
    execute: [client.allowInsecureRequests],
  });
  return {
    config,
    /** A request of the code flow, and how to finish it at the address that the browser was led to. */
    async begin(changes: Readonly<Record<string, string>> = {}) {
      const verifier = client.randomPKCECodeVerifier();
      const state = client.randomState();
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: "expenses",
        resource,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        state,
        ...changes,
      });
      return {
        url,
        verifier,
        state,
        finish: (callback: URL) =>
          client.authorizationCodeGrant(
            config,
            callback,
            { pkceCodeVerifier: verifier, expectedState: state },
            { resource },
          ),
      };
    },
  };
}

interface LogIn {
  readonly scope?: string;
  readonly ttl?: string;
  readonly person?: string;
}

/** The whole login of the stock client, and what an enforcement point makes of its access token. */
export async function logInClient(
  stack: PeopleStack,
  { scope = "expenses", ttl = "3600", person = "ada" }: LogIn = {},
) {
  const { begin, config } = await stockClient(stack);
  const login = await begin({ scope });
  const browser = stack.browser(person);
  const page = await browser.visit(login.url);
  const back = await browser.submit(page, { answer: "allow", ttl });
  const tokens = await login.finish(back.url);
  const { body: session } = await stack.redeem(tokens.access_token);
  return { config, login, page, back, tokens, session, browser };
}

/** A session of ada in which planner was just denied a call that another scope would admit. */
export async function deniedCall({ api }: Pick<PeopleStack, "api">, call: Hop) {
  const { session, token: root } = await api.consent("expenses");
  const hop = { target: "planner", target_kind: "agent", data_class: "finance.entries" } as const;
  const { token } = await api.hop(session, root, hop);
  const { body } = await api.authorize(session, token, call);
  return { session, root, token, decision: body };
}
