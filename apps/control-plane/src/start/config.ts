import { randomBytes } from "node:crypto";
import {
  type Environment,
  everySettingName,
  type ReadOptions,
  readSettings,
  type SettingValues,
  telemetryKeyRule,
} from "@svc/host";
import type { BearerToken, Plane } from "../http/bearers.ts";
import type { OAuthClient } from "../ports/oauth-clients.ts";
import type { ListedToken } from "./setting-readers.ts";
import { controlPlaneSettings } from "./settings-table.ts";

type Values = SettingValues<typeof controlPlaneSettings>;

/** An absent address means the embedded default. */
export type Config = ReturnType<typeof toConfig>;

export type ConfigResult =
  | { readonly ok: true; readonly config: Config; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly faults: readonly string[]; readonly warnings: readonly string[] };

interface ConfigOptions extends Pick<ReadOptions<typeof controlPlaneSettings>, "readFile"> {
  /** A migration needs no token and no key. */
  readonly purpose?: "serve" | "migrate";
}

/** Reads every setting, or returns every fault as one line without values. */
export function readConfig(environment: Environment, options: ConfigOptions = {}): ConfigResult {
  const { purpose = "serve", ...readOptions } = options;
  const result = readSettings(controlPlaneSettings, environment, {
    ...readOptions,
    knownElsewhere: everySettingName,
    rules: purpose === "serve" ? rules : [],
  });
  if (!result.ok) return result;
  return { ok: true, config: toConfig(result.values), warnings: result.warnings };
}

type Rule = (values: Partial<Values>) => string | undefined;

/** A faulty setting has no member, and its own fault. */
const isMissing = (values: Partial<Values>, name: keyof Values): boolean =>
  name in values && values[name] === undefined;

const together =
  (one: keyof Values, other: keyof Values): Rule =>
  (values) =>
    one in values && other in values && isMissing(values, one) !== isMissing(values, other)
      ? `${one}: must be given together with ${other}`
      : undefined;

const adminToken: Rule = (values) =>
  values.SVC_DEV === false && isMissing(values, "SVC_ADMIN_TOKEN")
    ? "SVC_ADMIN_TOKEN: is required unless SVC_DEV is true"
    : undefined;

const sealedKeys: Rule = (values) =>
  values.SVC_DEV === false && isMissing(values, "SVC_KEY_ENCRYPTION_KEY") && isMissing(values, "SVC_ISSUER_PRIVATE_KEY")
    ? "SVC_KEY_ENCRYPTION_KEY: is required unless SVC_DEV is true or SVC_ISSUER_PRIVATE_KEY is given"
    : undefined;

/** Embedded stores live in one process. */
const sharedStores: Rule = (values) =>
  (values.SVC_WORKERS ?? 1) > 1 && (isMissing(values, "DATABASE_URL") || isMissing(values, "REDIS_URL"))
    ? "SVC_WORKERS: more than one needs DATABASE_URL and REDIS_URL"
    : undefined;

/** `one` has no use without any of the others. */
const needs =
  (one: keyof Values, ...others: readonly (keyof Values)[]): Rule =>
  (values) =>
    values[one] !== undefined && others.every((other) => isMissing(values, other))
      ? `${one}: needs ${others.join(" or ")}`
      : undefined;

const rules: readonly Rule[] = [
  adminToken,
  telemetryKeyRule,
  sealedKeys,
  sharedStores,
  together("SVC_TLS_CERT_FILE", "SVC_TLS_KEY_FILE"),
  needs("SVC_IDP_ISSUER", "SVC_IDP_AUDIENCE", "SVC_IDP_CLIENT_ID"),
  needs("SVC_IDP_AUDIENCE", "SVC_IDP_ISSUER"),
  needs("SVC_IDP_CLIENT_ID", "SVC_IDP_ISSUER"),
  needs("SVC_IDP_CLIENT_SECRET", "SVC_IDP_CLIENT_ID"),
  needs("SVC_CONSOLE_ROLES", "SVC_IDP_CLIENT_ID"),
  together("SVC_CONSENT_WEBHOOK", "SVC_CONSENT_WEBHOOK_SECRET"),
  needs("SVC_CONSENT_WEBHOOK", "SVC_IDP_CLIENT_ID"),
  needs("SVC_SIGNALS_AUDIENCE", "SVC_IDP_ISSUER"),
  needs("SVC_SIGNALS_AUDIENCE", "SVC_SIGNALS_TOKEN", "SVC_SIGNALS_POLL_URL"),
  needs("SVC_SIGNALS_TOKEN", "SVC_SIGNALS_AUDIENCE"),
  needs("SVC_SIGNALS_POLL_URL", "SVC_SIGNALS_AUDIENCE"),
  together("SVC_SIGNALS_POLL_URL", "SVC_SIGNALS_POLL_TOKEN"),
  together("SVC_SINK_WEBHOOK", "SVC_SINK_WEBHOOK_SECRET"),
  needs("SVC_SINK_WEBHOOK_AUTHORIZATION", "SVC_SINK_WEBHOOK"),
  needs("SVC_SINK_OTLP_AUTHORIZATION", "SVC_SINK_OTLP"),
];

function toConfig(values: Values) {
  const madeUp = randomBytes(32).toString("base64url");
  const admin = values.SVC_ADMIN_TOKEN ?? [{ label: undefined, token: madeUp }];
  return {
    dev: values.SVC_DEV,
    host: values.HOST,
    port: values.PORT,
    tls: bothOf(values.SVC_TLS_CERT_FILE, values.SVC_TLS_KEY_FILE, (certFile, keyFile) => ({ certFile, keyFile })),
    workers: values.SVC_WORKERS,
    metricsFolder: values.PROMETHEUS_MULTIPROC_DIR,
    bearers: {
      admin: labelled("admin", admin),
      audit: labelled("audit", values.SVC_AUDIT_TOKEN ?? []),
      identity: labelled("identity", values.SVC_IDENTITY_TOKEN ?? []),
      enforcement: labelled("enforcement", values.SVC_ENFORCEMENT_TOKEN ?? []),
      signals: labelled("signals", values.SVC_SIGNALS_TOKEN ?? []),
    },
    /** Made up for development, if the settings give none: it must be printed. */
    madeUpAdminToken: values.SVC_ADMIN_TOKEN === undefined ? madeUp : undefined,
    dataDir: values.SVC_DATA_DIR,
    databaseUrl: values.DATABASE_URL,
    auditDatabaseUrl: values.AUDIT_DATABASE_URL,
    /** Of each process, at most. */
    databaseConnections: values.SVC_DATABASE_CONNECTIONS,
    migrationDatabaseUrl: values.SVC_MIGRATION_DATABASE_URL,
    migrate: values.SVC_MIGRATE,
    redisUrl: values.REDIS_URL,
    issuer: values.SVC_ISSUER,
    /** PKCS#8 PEM or JWK. */
    issuerPrivateKey: values.SVC_ISSUER_PRIVATE_KEY,
    keyEncryptionKey: values.SVC_KEY_ENCRYPTION_KEY,
    consentTtlSeconds: values.SVC_CONSENT_TTL_SECONDS,
    consentTtlByScope: values.SVC_CONSENT_TTL_BY_SCOPE ?? new Map<string, number>(),
    oauthClients: values.SVC_OAUTH_CLIENTS ?? new Map<string, OAuthClient>(),
    traceUrl: values.SVC_TRACE_URL,
    consentWebhook: bothOf(values.SVC_CONSENT_WEBHOOK, values.SVC_CONSENT_WEBHOOK_SECRET, (url, secret) => ({
      url,
      secret,
    })),
    sinks: {
      webhook: bothOf(values.SVC_SINK_WEBHOOK, values.SVC_SINK_WEBHOOK_SECRET, (url, secret) => ({
        ...{ url, secret, format: values.SVC_SINK_WEBHOOK_FORMAT },
        authorization: values.SVC_SINK_WEBHOOK_AUTHORIZATION,
      })),
      otlp: values.SVC_SINK_OTLP && { url: values.SVC_SINK_OTLP, authorization: values.SVC_SINK_OTLP_AUTHORIZATION },
    },
    oauthResources: values.SVC_OAUTH_RESOURCES ?? [],
    mayObserve: values.SVC_OBSERVE_SCOPES,
    identityRequired: values.SVC_IDENTITY_REQUIRED,
    identityProvider: bothOf(values.SVC_IDP_ISSUER, values.SVC_IDP_AUDIENCE, (issuer, audience) => ({
      issuer,
      audience,
    })),
    signIn: bothOf(values.SVC_IDP_ISSUER, values.SVC_IDP_CLIENT_ID, (issuer, clientId) => ({
      issuer,
      clientId,
      clientSecret: values.SVC_IDP_CLIENT_SECRET,
      consoleRoles: values.SVC_CONSOLE_ROLES ?? [],
      rolesClaim: values.SVC_CONSOLE_ROLES_CLAIM,
    })),
    signals: bothOf(values.SVC_IDP_ISSUER, values.SVC_SIGNALS_AUDIENCE, (issuer, audience) => ({
      issuer,
      audience,
      poll: bothOf(values.SVC_SIGNALS_POLL_URL, values.SVC_SIGNALS_POLL_TOKEN, (url, token) => ({ url, token })),
    })),
    discoveryAllow: values.SVC_DISCOVERY_ALLOW ?? [],
    discoveryCredentials: values.SVC_DISCOVERY_CREDENTIALS,
    rateLimits: { perBearer: values.SVC_RATE_LIMIT_PER_BEARER, perSession: values.SVC_RATE_LIMIT_PER_SESSION },
    logLevel: values.SVC_LOG_LEVEL,
    telemetryKey: values.SVC_TELEMETRY_KEY,
    discloseIdentities: values.SVC_TELEMETRY_DISCLOSE_IDENTITIES,
  };
}

/** The plane is the label of an unlabelled token. */
const labelled = (plane: Plane, tokens: readonly ListedToken[]): readonly BearerToken[] =>
  tokens.map(({ label = plane, token }) => ({ label, token }));

const bothOf = <A, B, T>(one: A | undefined, other: B | undefined, make: (one: A, other: B) => T): T | undefined =>
  one === undefined || other === undefined ? undefined : make(one, other);

/** A process that is stopped takes up to the sum. */
export const drainTimes = {
  /** For load balancers to notice that it is not ready. */
  noticeMs: 5_000,
  /** For requests to finish. */
  deadlineMs: 15_000,
  /** For telemetry to be sent. */
  lastWordsMs: 5_000,
} as const;
