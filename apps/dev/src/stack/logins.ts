import { approvalScope } from "../examples/agents.ts";

/** The control plane's client id at the stack's provider: a public client. */
export const clientId = "control-plane";

export const callbackOf = (issuer: string): string => new URL("/sign-in/callback", issuer).href;

/** The `client_id` of any MCP client on this machine, and where such clients listen: every port of these addresses counts. */
export const developmentClient = {
  client_id: "development",
  client_name: "MCP client on this machine",
  redirect_uris: ["127.0.0.1", "localhost"].flatMap((host) =>
    ["/", "/callback", "/oauth/callback", "/oauth/callback/debug"].map((path) => `http://${host}${path}`),
  ),
};

/** Whether the environment names a provider of its own, or a part of one. */
export const namesProvider = (environment: NodeJS.ProcessEnv): boolean =>
  ["SVC_IDP_ISSUER", "SVC_IDP_CLIENT_ID"].some((name) => environment[name] !== undefined);

interface Logins {
  readonly environment: NodeJS.ProcessEnv;
  readonly hasProvider: boolean;
  /** Addresses. */
  readonly provider: string;
  readonly pep: string;
}

/** Settings of the control plane by which people sign in, and by which clients log in to what the enforcement point guards. */
export function loginSettings({ environment, hasProvider, provider, pep }: Logins): Record<string, string> {
  if (!hasProvider && !namesProvider(environment)) return {};
  return {
    ...(hasProvider && { SVC_IDP_ISSUER: provider, SVC_IDP_CLIENT_ID: clientId, SVC_CONSOLE_ROLES: "platform=admin" }),
    // A setting and its `_FILE` together would be an error.
    ...(environment.SVC_OAUTH_CLIENTS_FILE === undefined && { SVC_OAUTH_CLIENTS: JSON.stringify([developmentClient]) }),
    SVC_OAUTH_RESOURCES: `${environment.SVC_PEP_PUBLIC_URL ?? pep}/`,
    SVC_CONSENT_TTL_BY_SCOPE: `${approvalScope}=60`,
  };
}
