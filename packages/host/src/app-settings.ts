import { defaulted, optional, type Setting, type SettingValues } from "./setting.ts";
import { flag, oneOf, text } from "./values.ts";

/**
 * The setting names of each app (docs/reference/settings.md#reading-settings), so that an app can distinguish another's setting from a
 * typo of its own. Each app's table is typed against its tuple, so that neither can drift from the other.
 */
export const sharedSettingNames = [
  "SVC_DEV",
  "SVC_LOG_LEVEL",
  "SVC_TELEMETRY_KEY",
  "SVC_TELEMETRY_DISCLOSE_IDENTITIES",
] as const;
export type SharedSettingName = (typeof sharedSettingNames)[number];

const logLevels = ["debug", "info", "warn", "error"] as const;

/** Settings that every app reads alike. */
export const sharedSettings = {
  SVC_DEV: defaulted(flag, "false", "Development: what production must be given is made up, with a warning."),
  SVC_LOG_LEVEL: defaulted(oneOf(logLevels), "info", "The least severe log level that is written."),
  SVC_TELEMETRY_KEY: optional(text, "Key of the pseudonyms in traces and logs; required outside `SVC_DEV`.", {
    secret: true,
  }),
  SVC_TELEMETRY_DISCLOSE_IDENTITIES: defaulted(
    flag,
    "false",
    "Puts agent names and act chains into traces and logs instead of their pseudonyms.",
  ),
} satisfies Record<SharedSettingName, Setting<unknown>>;

/** Outside development the pseudonym key must be set: a generated one would change at every restart. */
export const telemetryKeyRule = (values: Partial<SettingValues<typeof sharedSettings>>): string | undefined =>
  values.SVC_DEV === false && "SVC_TELEMETRY_KEY" in values && values.SVC_TELEMETRY_KEY === undefined
    ? "SVC_TELEMETRY_KEY: is required unless SVC_DEV is true"
    : undefined;

export const controlPlaneSettingNames = [
  "HOST",
  "PORT",
  "SVC_ADMIN_TOKEN",
  "SVC_AUDIT_TOKEN",
  "SVC_IDENTITY_TOKEN",
  "SVC_ENFORCEMENT_TOKEN",
  "SVC_DATA_DIR",
  "SVC_TLS_CERT_FILE",
  "SVC_TLS_KEY_FILE",
  "SVC_MIGRATION_DATABASE_URL",
  "DATABASE_URL",
  "AUDIT_DATABASE_URL",
  "SVC_DATABASE_CONNECTIONS",
  "REDIS_URL",
  "SVC_ISSUER",
  "SVC_ISSUER_PRIVATE_KEY",
  "SVC_KEY_ENCRYPTION_KEY",
  "SVC_MIGRATE",
  "SVC_CONSENT_TTL_SECONDS",
  "SVC_CONSENT_TTL_BY_SCOPE",
  "SVC_CONSENT_WEBHOOK",
  "SVC_CONSENT_WEBHOOK_SECRET",
  "SVC_SINK_WEBHOOK",
  "SVC_SINK_WEBHOOK_SECRET",
  "SVC_SINK_WEBHOOK_AUTHORIZATION",
  "SVC_SINK_WEBHOOK_FORMAT",
  "SVC_SINK_OTLP",
  "SVC_SINK_OTLP_AUTHORIZATION",
  "SVC_OAUTH_CLIENTS",
  "SVC_OAUTH_RESOURCES",
  "SVC_OBSERVE_SCOPES",
  "SVC_IDENTITY_REQUIRED",
  "SVC_IDP_ISSUER",
  "SVC_IDP_AUDIENCE",
  "SVC_IDP_CLIENT_ID",
  "SVC_IDP_CLIENT_SECRET",
  "SVC_CONSOLE_ROLES",
  "SVC_CONSOLE_ROLES_CLAIM",
  "SVC_TRACE_URL",
  "SVC_SIGNALS_AUDIENCE",
  "SVC_SIGNALS_TOKEN",
  "SVC_SIGNALS_POLL_URL",
  "SVC_SIGNALS_POLL_TOKEN",
  "SVC_DISCOVERY_ALLOW",
  "SVC_DISCOVERY_CREDENTIALS",
  "SVC_RATE_LIMIT_PER_BEARER",
  "SVC_RATE_LIMIT_PER_SESSION",
  "SVC_WORKERS",
  "PROMETHEUS_MULTIPROC_DIR",
] as const;
export type ControlPlaneSettingName = (typeof controlPlaneSettingNames)[number];

export const pepSettingNames = [
  "SVC_CONTROL_PLANE_URL",
  "SVC_CONTROL_PLANE_CA_FILE",
  "SVC_PEP_CONFIG",
  "SVC_PEP_LISTEN",
  "SVC_PEP_ADMIN_LISTEN",
  "SVC_PEP_MODE",
  "SVC_PEP_OBSERVE_UNDECIDED",
  "SVC_PEP_OBSERVE_UNLISTED",
  "SVC_PEP_BIND_CAP_BYTES",
  "SVC_PEP_GRACE_SECONDS",
  "SVC_PEP_UPSTREAM_TIMEOUT_SECONDS",
  "SVC_PEP_RENEWAL_IDLE_SECONDS",
  "SVC_PEP_SESSION_FILE",
  "SVC_PEP_STATE_DIR",
  "SVC_PEP_AGENT_KEY_FILE",
  "SVC_PEP_AGENT_NAME",
  "SVC_TRACE_PATH",
  "SVC_PEP_TLS_CA_FILE",
  "SVC_PEP_OTHER_HOSTS",
  "SVC_PEP_QUIT",
  "SVC_PEP_PUBLIC_URL",
  "SVC_PEP_ENFORCEMENT_TOKEN",
] as const;
export type PepSettingName = (typeof pepSettingNames)[number];

/** The defaults that annotations of a pod override. */
export const injectorPodSettingNames = [
  "SVC_INJECTOR_PEP_MODE",
  "SVC_INJECTOR_PEP_CONFIG",
  "SVC_INJECTOR_PEP_SECRET",
  "SVC_INJECTOR_PEP_SESSION_SECRET",
  "SVC_INJECTOR_PEP_AGENT_NAME",
  "SVC_INJECTOR_PEP_AGENT_KEY_SECRET",
  "SVC_INJECTOR_PEP_OBSERVE_UNDECIDED",
  "SVC_INJECTOR_PEP_OBSERVE_UNLISTED",
  "SVC_INJECTOR_PEP_BIND_CAP_BYTES",
  "SVC_INJECTOR_PEP_GRACE_SECONDS",
  "SVC_INJECTOR_PEP_UPSTREAM_TIMEOUT_SECONDS",
  "SVC_INJECTOR_PEP_RENEWAL_IDLE_SECONDS",
  "SVC_INJECTOR_PEP_LOG_LEVEL",
  "SVC_INJECTOR_PEP_PROXY_ENV",
  "SVC_INJECTOR_PEP_NATIVE_SIDECAR",
  "SVC_INJECTOR_PEP_REDIRECT_PORTS",
  "SVC_INJECTOR_PEP_QUIT",
  "SVC_INJECTOR_PEP_ENFORCEMENT_SECRET",
  "SVC_INJECTOR_PEP_PUBLIC_URL",
  "SVC_INJECTOR_PEP_USER_ID",
  "SVC_INJECTOR_PEP_GROUP_ID",
  "SVC_INJECTOR_PEP_CPU_REQUEST",
  "SVC_INJECTOR_PEP_CPU_LIMIT",
  "SVC_INJECTOR_PEP_MEMORY_REQUEST",
  "SVC_INJECTOR_PEP_MEMORY_LIMIT",
] as const;
export type InjectorPodSettingName = (typeof injectorPodSettingNames)[number];

export const injectorSettingNames = [
  "SVC_INJECTOR_TLS_CERT_FILE",
  "SVC_INJECTOR_TLS_KEY_FILE",
  "SVC_INJECTOR_PEP_IMAGE",
  "SVC_INJECTOR_REDIRECT_IMAGE",
  ...injectorPodSettingNames,
] as const;
export type InjectorSettingName = (typeof injectorSettingNames)[number];

/** Every `SVC_*` name that some part of the project reads: what an app passes as `knownElsewhere`. */
export const everySettingName: readonly string[] = [
  ...sharedSettingNames,
  ...controlPlaneSettingNames,
  ...pepSettingNames,
  ...injectorSettingNames,
].filter((name) => name.startsWith("SVC_"));
