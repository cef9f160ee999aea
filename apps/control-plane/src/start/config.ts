import { randomBytes } from "node:crypto";
import {
  type Environment,
  everySettingName,
  type ReadOptions,
  readSettings,
  type SettingValues,
  telemetryKeyRule,
} from "@svc/host";
import type { AllowedDestination } from "../discovery/allow-list.ts";
import type { BearerToken, Plane } from "../http/bearers.ts";
import type { RateBudget } from "../ports/rate-limit.ts";
import type { ListedToken } from "./setting-readers.ts";
import { controlPlaneSettings } from "./settings-table.ts";

type Values = SettingValues<typeof controlPlaneSettings>;

/** How the control plane was told to run. An absent address means the embedded default. */
export interface Config {
  readonly dev: boolean;
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly workers: number;
  readonly metricsFolder: string | undefined;
  readonly bearers: Readonly<Record<Plane, readonly BearerToken[]>>;
  /** The admin token that was made up because development was given none: to be printed. */
  readonly madeUpAdminToken: string | undefined;
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
  readonly auditDatabaseUrl: string | undefined;
  /** At most so many, for each process. */
  readonly databaseConnections: number;
  readonly migrationDatabaseUrl: string | undefined;
  readonly migrate: "start" | "never";
  readonly redisUrl: string | undefined;
  readonly issuer: string | undefined;
  /** PKCS#8 PEM or JWK. */
  readonly issuerPrivateKey: string | undefined;
  readonly keyEncryptionKey: Uint8Array | undefined;
  readonly consentTtlSeconds: number;
  /** Whether an enforcement point may merely observe under a scope. */
  readonly mayObserve: (scope: string) => boolean;
  readonly identityRequired: boolean;
  readonly identityProvider: { readonly issuer: URL; readonly audience: string } | undefined;
  readonly discoveryAllow: readonly AllowedDestination[];
  /** Absent: any number of calls. */
  readonly rateLimits: { readonly perBearer: RateBudget | undefined; readonly perSession: RateBudget | undefined };
  readonly logLevel: Values["SVC_LOG_LEVEL"];
  readonly telemetryKey: string | undefined;
  readonly discloseIdentities: boolean;
}

export type ConfigResult =
  | { readonly ok: true; readonly config: Config; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly faults: readonly string[]; readonly warnings: readonly string[] };

interface ConfigOptions extends Pick<ReadOptions<typeof controlPlaneSettings>, "readFile"> {
  readonly makeToken?: () => string;
  /** What migrates the schema is given no token and no key. */
  readonly purpose?: "serve" | "migrate";
}

/** Reads every setting, or tells every fault, one line each, without values. */
export function readConfig(environment: Environment, options: ConfigOptions = {}): ConfigResult {
  const { makeToken = () => randomBytes(32).toString("base64url"), purpose = "serve", ...readOptions } = options;
  const result = readSettings(controlPlaneSettings, environment, {
    ...readOptions,
    knownElsewhere: everySettingName,
    rules: purpose === "serve" ? rules : [],
  });
  if (!result.ok) return result;
  return { ok: true, config: toConfig(result.values, makeToken), warnings: result.warnings };
}

type Rule = (values: Partial<Values>) => string | undefined;

/** A setting whose text was faulty has no member, and its own fault is enough. */
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

/** What is embedded lives in one process. */
const sharedStores: Rule = (values) =>
  (values.SVC_WORKERS ?? 1) > 1 && (isMissing(values, "DATABASE_URL") || isMissing(values, "REDIS_URL"))
    ? "SVC_WORKERS: more than one needs DATABASE_URL and REDIS_URL"
    : undefined;

const rules: readonly Rule[] = [
  adminToken,
  telemetryKeyRule,
  sealedKeys,
  sharedStores,
  together("SVC_TLS_CERT_FILE", "SVC_TLS_KEY_FILE"),
  together("SVC_IDP_ISSUER", "SVC_IDP_AUDIENCE"),
];

function toConfig(values: Values, makeToken: () => string): Config {
  const madeUpAdminToken = values.SVC_ADMIN_TOKEN === undefined ? makeToken() : undefined;
  const admin = values.SVC_ADMIN_TOKEN ?? [{ label: undefined, token: madeUpAdminToken ?? makeToken() }];
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
    },
    madeUpAdminToken,
    dataDir: values.SVC_DATA_DIR,
    databaseUrl: values.DATABASE_URL,
    auditDatabaseUrl: values.AUDIT_DATABASE_URL,
    databaseConnections: values.SVC_DATABASE_CONNECTIONS,
    migrationDatabaseUrl: values.SVC_MIGRATION_DATABASE_URL,
    migrate: values.SVC_MIGRATE,
    redisUrl: values.REDIS_URL,
    issuer: values.SVC_ISSUER,
    issuerPrivateKey: values.SVC_ISSUER_PRIVATE_KEY,
    keyEncryptionKey: values.SVC_KEY_ENCRYPTION_KEY,
    consentTtlSeconds: values.SVC_CONSENT_TTL_SECONDS,
    mayObserve: values.SVC_OBSERVE_SCOPES,
    identityRequired: values.SVC_IDENTITY_REQUIRED,
    identityProvider: bothOf(values.SVC_IDP_ISSUER, values.SVC_IDP_AUDIENCE, (issuer, audience) => ({
      issuer,
      audience,
    })),
    discoveryAllow: values.SVC_DISCOVERY_ALLOW ?? [],
    rateLimits: { perBearer: values.SVC_RATE_LIMIT_PER_BEARER, perSession: values.SVC_RATE_LIMIT_PER_SESSION },
    logLevel: values.SVC_LOG_LEVEL,
    telemetryKey: values.SVC_TELEMETRY_KEY,
    discloseIdentities: values.SVC_TELEMETRY_DISCLOSE_IDENTITIES,
  };
}

/** An unlabelled token is known by its plane. */
const labelled = (plane: Plane, tokens: readonly ListedToken[]): readonly BearerToken[] =>
  tokens.map(({ label = plane, token }) => ({ label, token }));

const bothOf = <A, B, T>(one: A | undefined, other: B | undefined, make: (one: A, other: B) => T): T | undefined =>
  one === undefined || other === undefined ? undefined : make(one, other);
