import {
  type ControlPlaneSettingName,
  defaulted,
  flag,
  httpUrl,
  oneOf,
  optional,
  type Setting,
  sharedSettings,
  text,
  wholeNumber,
} from "@svc/host";
import { evidenceFormats } from "@svc/seals";
import { fewestConnections } from "../postgres/connections.ts";
import {
  allowedDestinations,
  authorization,
  base64Key,
  bearerText,
  consoleRoleList,
  databaseUrl,
  discoveryCredentials,
  issuerUrl,
  oauthClients,
  otlpLogsUrl,
  rateBudget,
  resourceList,
  scopeSet,
  secondsByScope,
  storeUrl,
  tokenList,
  traceLink,
  webhookSecret,
} from "./setting-readers.ts";

const secret = { secret: true };

const listening = {
  HOST: defaulted(text, "127.0.0.1", "Address to listen on."),
  PORT: defaulted(wholeNumber({ min: 0, max: 65_535 }), "8080", "Port to listen on; 0 takes a free one."),
  SVC_TLS_CERT_FILE: optional(text, "Certificate chain to serve HTTPS with; read again when it changes."),
  SVC_TLS_KEY_FILE: optional(text, "Its private key; read again when it changes."),
  SVC_WORKERS: defaulted(
    wholeNumber({ min: 1, max: 256 }),
    "1",
    "Processes that serve; several need `DATABASE_URL` and `REDIS_URL`.",
  ),
  PROMETHEUS_MULTIPROC_DIR: optional(text, "An empty folder through which the processes share their metrics."),
};

const bearers = {
  SVC_ADMIN_TOKEN: optional(
    tokenList,
    "Bearers of the admin plane, comma-separated, each `token` or `label=token`, at least 32 characters; required outside `SVC_DEV`.",
    secret,
  ),
  SVC_AUDIT_TOKEN: optional(tokenList, "The same of the audit plane, which takes the admin's too.", secret),
  SVC_IDENTITY_TOKEN: optional(
    tokenList,
    "The same of the identity plane, which takes the audit reader's and the admin's too.",
    secret,
  ),
  SVC_ENFORCEMENT_TOKEN: optional(
    tokenList,
    "The same of enforcement points, which turn the access tokens of OAuth clients into sessions.",
    secret,
  ),
};

const stores = {
  SVC_DATA_DIR: defaulted(text, ".svc-data", "Folder of the embedded database."),
  DATABASE_URL: optional(databaseUrl, "PostgreSQL; without it, one is started under `SVC_DATA_DIR`.", secret),
  AUDIT_DATABASE_URL: optional(
    databaseUrl,
    "A streaming standby for the reads of the audit; without it, and for what it does not know yet, `DATABASE_URL`.",
    secret,
  ),
  SVC_DATABASE_CONNECTIONS: defaulted(
    wholeNumber({ min: fewestConnections, max: 1_000 }),
    "20",
    "Connections that each process may open; the server must admit them times `SVC_WORKERS`.",
  ),
  SVC_MIGRATION_DATABASE_URL: optional(databaseUrl, "The schema owner's connection instead of `DATABASE_URL`.", secret),
  SVC_MIGRATE: defaulted(oneOf(["start", "never"]), "start", "`never` where a job migrates the schema."),
  REDIS_URL: optional(storeUrl, "Store of the replay guard; without it, a guard for one process only.", secret),
};

const issuing = {
  SVC_ISSUER: optional(issuerUrl, "`iss` of every token; without it, the address the server listens on."),
  SVC_ISSUER_PRIVATE_KEY: optional(
    text,
    "Signing key as PKCS#8 PEM or JWK; without it, keys are made and rotated in the database.",
    secret,
  ),
  SVC_KEY_ENCRYPTION_KEY: optional(
    base64Key,
    "32 bytes in base64 that seal the signing keys kept in the database; required for these outside `SVC_DEV`.",
    secret,
  ),
};

const deciding = {
  SVC_CONSENT_TTL_SECONDS: defaulted(
    wholeNumber({ min: 60, max: 86_400 }),
    "3600",
    "Lifetime of a session whose consent names none.",
  ),
  SVC_CONSENT_TTL_BY_SCOPE: optional(
    secondsByScope,
    "The same of some scopes, as `payments-approval=60,reports=28800`; people may choose less, never more.",
  ),
  SVC_OBSERVE_SCOPES: defaulted(
    scopeSet,
    "*",
    "Scopes whose enforcement points may merely observe: a list, `*` or `none`.",
  ),
  SVC_IDENTITY_REQUIRED: defaulted(flag, "false", "Whether every hop needs proof of an enrolled agent's key."),
  SVC_IDP_ISSUER: optional(
    httpUrl,
    "OpenID provider of the people: its ID tokens bind agents (`SVC_IDP_AUDIENCE`), and its logins sign in (`SVC_IDP_CLIENT_ID`).",
  ),
  SVC_IDP_AUDIENCE: optional(text, "`aud` of the ID tokens that bind an agent to a person."),
  SVC_DISCOVERY_ALLOW: optional(
    allowedDestinations,
    "Hosts and CIDRs that discovery may reach although they are loopback, link-local or private.",
  ),
  SVC_DISCOVERY_CREDENTIALS: optional(
    discoveryCredentials,
    'A JSON object of origins and the `Authorization` that discovery sends them, such as `{"https://ledger.internal": "Bearer ..."}`.',
    secret,
  ),
};

const signingIn = {
  SVC_IDP_CLIENT_ID: optional(
    text,
    "This service's client at `SVC_IDP_ISSUER`, for people who sign in; its redirect address is `/sign-in/callback` at the host of `SVC_ISSUER`.",
  ),
  SVC_IDP_CLIENT_SECRET: optional(text, "Its secret; without it, the client is a public one.", secret),
  SVC_CONSOLE_ROLES: optional(
    consoleRoleList,
    "What opens the console to a person who signed in: `value=audit` or `value=admin` for values of `SVC_CONSOLE_ROLES_CLAIM`, comma-separated.",
  ),
  SVC_CONSOLE_ROLES_CLAIM: defaulted(
    text,
    "groups",
    "The claim of ID token or UserInfo with those values: its name, or a path as `realm_access.roles`.",
  ),
  SVC_TRACE_URL: optional(
    traceLink,
    "Where your tracing finds the spans of a decision; the console links there. `{action_id}` and `{session_id}` are replaced by its ids, which the spans have as `authz.action_id` and `authz.session_id`.",
  ),
};

const authorizing = {
  SVC_CONSENT_WEBHOOK: optional(
    httpUrl,
    "Where to tell that a person is asked for a consent, by a signed request (Standard Webhooks); for agents without a screen.",
  ),
  SVC_CONSENT_WEBHOOK_SECRET: optional(
    webhookSecret,
    "What it is signed with: `whsec_` and 24 to 64 bytes in base64.",
    secret,
  ),
  SVC_OAUTH_CLIENTS: optional(
    oauthClients,
    'OAuth clients without a metadata document: a JSON array such as `[{"client_id": "notebook", "client_name": "Notebook", "redirect_uris": ["https://notebook.example/callback"]}]`, with `client_secret` and `agent` where needed.',
    secret,
  ),
  SVC_OAUTH_RESOURCES: optional(
    resourceList,
    "Addresses of what enforcement points guard, such as `https://tools.example/`: a client may ask for them and what lies below.",
  ),
};

const signalling = {
  SVC_SIGNALS_AUDIENCE: optional(
    text,
    "`aud` of the security events of `SVC_IDP_ISSUER`, which end a person's sessions.",
  ),
  SVC_SIGNALS_TOKEN: optional(
    tokenList,
    "Bearers under which it delivers them to `/v1/signals/events`, as those of the admin plane; they open nothing else.",
    secret,
  ),
  SVC_SIGNALS_POLL_URL: optional(
    httpUrl,
    "The provider's poll endpoint, from which they are fetched every few seconds.",
  ),
  SVC_SIGNALS_POLL_TOKEN: optional(bearerText, "The bearer that it takes.", secret),
};

const delivering = {
  SVC_SINK_WEBHOOK: optional(
    httpUrl,
    "Where every row of the record is delivered, by signed requests (Standard Webhooks).",
  ),
  SVC_SINK_WEBHOOK_SECRET: optional(
    webhookSecret,
    "What they are signed with: `whsec_` and 24 to 64 bytes in base64.",
    secret,
  ),
  SVC_SINK_WEBHOOK_AUTHORIZATION: optional(
    authorization,
    "Their `Authorization`, such as `Splunk <token>`; without it, none.",
    secret,
  ),
  SVC_SINK_WEBHOOK_FORMAT: defaulted(
    oneOf(evidenceFormats),
    "cloudevents",
    "How rows are written: `cloudevents` (a batch), `ocsf` or `jsonl` (lines).",
  ),
  SVC_SINK_OTLP: optional(
    otlpLogsUrl,
    "Where every row of the record is delivered as OTLP logs over HTTP, such as `https://collector.internal:4318/v1/logs`.",
  ),
  SVC_SINK_OTLP_AUTHORIZATION: optional(authorization, "`Authorization` of these requests; without it, none.", secret),
};

const limiting = {
  SVC_RATE_LIMIT_PER_BEARER: optional(
    rateBudget,
    "Calls that each bearer of a plane may make, as `calls/seconds`; without it, any number.",
  ),
  SVC_RATE_LIMIT_PER_SESSION: optional(
    rateBudget,
    "Calls that each session's hop tokens may make together, as `calls/seconds` (a guarded call makes two, a privileged one three); without it, any number.",
  ),
};

/**
 * Every setting of the control plane (docs/reference/settings.md#reading-settings); its reference is generated from
 * here.
 */
export const controlPlaneSettings = {
  ...sharedSettings,
  ...listening,
  ...bearers,
  ...stores,
  ...issuing,
  ...deciding,
  ...authorizing,
  ...delivering,
  ...signingIn,
  ...signalling,
  ...limiting,
} satisfies Record<ControlPlaneSettingName, Setting<unknown>>;
