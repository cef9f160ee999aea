import { agentName } from "@svc/core";
import {
  defaulted,
  type Environment,
  everySettingName,
  flag,
  httpUrl,
  isLoopback,
  listenAddress,
  oneOf,
  optional,
  type PepSettingName,
  readSettings,
  required,
  type Setting,
  type SettingValues,
  sharedSettings,
  telemetryKeyRule,
  text,
  wholeNumber,
} from "@svc/host";
import { defaultLimits } from "../limits.ts";
import { observeChoices, otherHostsChoices, pepModes } from "../modes.ts";
import { type EgressProxies, readEgressProxies } from "../upstreams/connect-upstream.ts";

/** What the control plane reads of one body, with room for what is around the parameters. */
const maxBindCapBytes = 786_432;

/** A document and identifiers are below it, so it has neither query nor fragment. */
const publicUrl = httpUrl.refine(
  ({ search, hash }) => `${search}${hash}` === "",
  "must be an http or https URL without credentials, query or fragment",
);

export const pepSettings = {
  SVC_CONTROL_PLANE_URL: required(httpUrl, "Where the control plane is."),
  SVC_CONTROL_PLANE_CA_FILE: optional(text, "PEM file with the certificate authority of the control plane."),
  SVC_PEP_CONFIG: required(text, "The YAML or JSON file with the upstreams; read again on change and on SIGHUP."),
  SVC_PEP_LISTEN: defaulted(listenAddress, "127.0.0.1:16001", "Where agents call."),
  SVC_PEP_ADMIN_LISTEN: defaulted(
    listenAddress,
    "[::]:16020",
    "Where `/__svc/*` is served to probes and scrapes; `[::]` serves IPv4 too.",
  ),
  SVC_PEP_MODE: defaulted(oneOf(pepModes), "enforce", "The mode of upstreams that name none: `enforce` or `observe`."),
  SVC_PEP_OBSERVE_UNDECIDED: defaulted(
    oneOf(observeChoices),
    "block",
    "What observe mode does with a call that got no decision. With `forward` the decision log is no longer the whole list.",
  ),
  SVC_PEP_OBSERVE_UNLISTED: defaulted(
    oneOf(observeChoices),
    "forward",
    "What observe mode does with a call that the file names no target for; `GET /__svc/unlisted` of the admin port lists them.",
  ),
  SVC_PEP_BIND_CAP_BYTES: defaulted(
    wholeNumber({ min: 1, max: maxBindCapBytes }),
    String(defaultLimits.bindCapBytes),
    `The largest body that is read whole and bound; at most ${maxBindCapBytes}.`,
  ),
  SVC_PEP_GRACE_SECONDS: defaulted(
    wholeNumber({ min: 0, max: 3600 }),
    "25",
    "How long calls are still served after SIGTERM; below the pod's grace period.",
  ),
  SVC_PEP_UPSTREAM_TIMEOUT_SECONDS: defaulted(
    wholeNumber({ min: 1, max: 3600 }),
    "30",
    "How long an upstream may take to begin its answer.",
  ),
  SVC_PEP_RENEWAL_IDLE_SECONDS: defaulted(
    wholeNumber({ min: 1, max: 86_400 }),
    "300",
    "After how long without a call an agent's renewed tokens shrink to the two that keep its session alive.",
  ),
  SVC_PEP_SESSION_FILE: optional(
    text,
    "JSON file `{session_id, token}`: the session of requests that present none; read again on change.",
  ),
  SVC_PEP_STATE_DIR: optional(text, "Folder in memory that renewed tokens outlive a restart in."),
  SVC_PEP_AGENT_KEY_FILE: optional(text, "File with the agent's private key (PKCS#8 PEM or JWK); with the name."),
  SVC_PEP_AGENT_NAME: optional(agentName, "Whose key it is."),
  SVC_TRACE_PATH: optional(
    text,
    "File, or folder with a trailing slash, that one call edge per decided call is recorded into, for the drift gate.",
  ),
  SVC_PEP_TLS_CA_FILE: optional(
    text,
    "For one machine: TLS of tunnels to listed hosts ends here; the certificate of its authority, made at each start, is written to this file.",
  ),
  SVC_PEP_OTHER_HOSTS: defaulted(
    oneOf(otherHostsChoices),
    "refuse",
    "For one machine: with `tunnel`, proxied calls to hosts that no upstream lists pass, without a decision and without a token.",
  ),
  SVC_PEP_QUIT: defaulted(
    flag,
    "false",
    "Lets a program on this machine end the enforcement point: `POST /__svc/quit`, for jobs beside a plain sidecar.",
  ),
  SVC_PEP_PUBLIC_URL: optional(
    publicUrl,
    "Where OAuth clients reach this listener, for upstreams with `oauth`; needs the token below.",
  ),
  SVC_PEP_ENFORCEMENT_TOKEN: optional(
    text,
    "One of the control plane's `SVC_ENFORCEMENT_TOKEN`: follows the push, so that acts end calls under way at once; redeems clients' access tokens; finds sessions that a person consented to beside a call's own.",
    { secret: true },
  ),
} satisfies Record<PepSettingName, Setting<unknown>>;

const table = { ...pepSettings, ...sharedSettings };
type Values = SettingValues<typeof table>;

function agentKeyRule(values: Partial<Values>): string | undefined {
  // A setting that could not be read has its own fault.
  const areRead = "SVC_PEP_AGENT_KEY_FILE" in values && "SVC_PEP_AGENT_NAME" in values;
  const areTogether = (values.SVC_PEP_AGENT_KEY_FILE === undefined) === (values.SVC_PEP_AGENT_NAME === undefined);
  return areRead && !areTogether ? "SVC_PEP_AGENT_KEY_FILE, SVC_PEP_AGENT_NAME: go together" : undefined;
}

function oauthRule(values: Partial<Values>): string | undefined {
  const isTokenRead = "SVC_PEP_ENFORCEMENT_TOKEN" in values;
  const isTokenMissing = isTokenRead && values.SVC_PEP_ENFORCEMENT_TOKEN === undefined;
  return values.SVC_PEP_PUBLIC_URL !== undefined && isTokenMissing
    ? "SVC_PEP_PUBLIC_URL: needs SVC_PEP_ENFORCEMENT_TOKEN, which clients' access tokens are redeemed with"
    : undefined;
}

/** A pod's sidecar may reach what its agent may not: neither may be set there by accident. */
function localOnlyFaults(environment: Environment): readonly string[] {
  const named = [
    environment.SVC_PEP_TLS_CA_FILE ? "SVC_PEP_TLS_CA_FILE" : undefined,
    environment.SVC_PEP_OTHER_HOSTS === "tunnel" ? "SVC_PEP_OTHER_HOSTS" : undefined,
  ].filter((name) => name !== undefined);
  const listen = listenAddress.safeParse(environment.SVC_PEP_LISTEN || pepSettings.SVC_PEP_LISTEN.defaultText);
  const isLocal = listen.success && isLoopback(listen.data.host);
  const isPod = Boolean(environment.KUBERNETES_SERVICE_HOST) && environment.SVC_DEV !== "true";
  return named.flatMap((name) => [
    ...(isLocal
      ? []
      : [`${name}: needs a loopback address in SVC_PEP_LISTEN, since every client there would be served`]),
    ...(isPod ? [`${name}: is for an agent's own machine, and in Kubernetes needs SVC_DEV=true`] : []),
  ]);
}

export type Config = ReturnType<typeof toConfig>;

export function readConfig(environment: Environment) {
  const rules = [telemetryKeyRule, agentKeyRule, oauthRule];
  const read = readSettings(table, environment, { knownElsewhere: everySettingName, rules });
  const egress = readEgressProxies(environment, read.ok ? read.values.SVC_PEP_LISTEN : undefined);
  const localOnly = localOnlyFaults(environment);
  if (read.ok && egress.ok && localOnly.length === 0) {
    return { ok: true, config: toConfig(read.values, egress.proxies), warnings: read.warnings } as const;
  }
  const faults = [...[read, egress].flatMap((reading) => (reading.ok ? [] : reading.faults)), ...localOnly];
  return { ok: false, faults } as const;
}

const toConfig = (values: Values, egress: EgressProxies | undefined) => ({
  controlPlane: { url: values.SVC_CONTROL_PLANE_URL, caFile: values.SVC_CONTROL_PLANE_CA_FILE },
  configFile: values.SVC_PEP_CONFIG,
  listen: values.SVC_PEP_LISTEN,
  adminListen: values.SVC_PEP_ADMIN_LISTEN,
  mode: values.SVC_PEP_MODE,
  observe: { undecided: values.SVC_PEP_OBSERVE_UNDECIDED, unlisted: values.SVC_PEP_OBSERVE_UNLISTED },
  limits: {
    ...defaultLimits,
    bindCapBytes: values.SVC_PEP_BIND_CAP_BYTES,
    upstreamHeadersMs: values.SVC_PEP_UPSTREAM_TIMEOUT_SECONDS * 1000,
  },
  graceSeconds: values.SVC_PEP_GRACE_SECONDS,
  renewalIdleSeconds: values.SVC_PEP_RENEWAL_IDLE_SECONDS,
  sessionFile: values.SVC_PEP_SESSION_FILE,
  stateDir: values.SVC_PEP_STATE_DIR,
  egress,
  tlsCaFile: values.SVC_PEP_TLS_CA_FILE,
  otherHosts: values.SVC_PEP_OTHER_HOSTS,
  tracePath: values.SVC_TRACE_PATH,
  mayQuit: values.SVC_PEP_QUIT,
  publicUrl: values.SVC_PEP_PUBLIC_URL,
  enforcementToken: values.SVC_PEP_ENFORCEMENT_TOKEN,
  agent:
    values.SVC_PEP_AGENT_NAME !== undefined && values.SVC_PEP_AGENT_KEY_FILE !== undefined
      ? { name: values.SVC_PEP_AGENT_NAME, keyFile: values.SVC_PEP_AGENT_KEY_FILE }
      : undefined,
  telemetry: {
    key: values.SVC_TELEMETRY_KEY,
    dev: values.SVC_DEV,
    discloseIdentities: values.SVC_TELEMETRY_DISCLOSE_IDENTITIES,
    logLevel: values.SVC_LOG_LEVEL,
  },
});
