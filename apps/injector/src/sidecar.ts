import type { Injection } from "./config.ts";
import type { PodOptions } from "./options.ts";

export const sidecarName = "svc-pep";
export const redirectName = "svc-pep-redirect";
export const agentPort = 16_001;
export const adminPort = 16_020;

const folders = {
  config: "/etc/svc-pep/config",
  secret: "/etc/svc-pep/secret",
  session: "/etc/svc-pep/session",
  "agent-key": "/etc/svc-pep/agent-key",
  enforcement: "/etc/svc-pep/enforcement",
  state: "/var/run/svc-pep",
} as const;

/** The names of our containers and volumes begin with it. */
export const ownPrefix = "svc-pep";

/** The values that the API server adds. */
export const containerDefaults = {
  terminationMessagePath: "/dev/termination-log",
  terminationMessagePolicy: "File",
  imagePullPolicy: "IfNotPresent",
} as const;

/** The enforcement point's container. It has every default that the API server adds, so that the two can be compared. */
export function sidecarOf({ pepImage, controlPlaneUrl }: Injection, options: PodOptions) {
  const probe = (path: string) => ({
    httpGet: { path, port: adminPort, scheme: "HTTP" },
    timeoutSeconds: 1,
    successThreshold: 1,
  });
  return {
    name: sidecarName,
    image: pepImage,
    ...(options["pep.svc/native-sidecar"] && { restartPolicy: "Always" }),
    ports: [{ name: "svc-pep-admin", containerPort: adminPort, protocol: "TCP" }],
    env: environmentOf(controlPlaneUrl, options),
    resources: {
      limits: {
        ...(options["pep.svc/cpu-limit"] !== undefined && { cpu: options["pep.svc/cpu-limit"] }),
        memory: options["pep.svc/memory-limit"],
      },
      requests: { cpu: options["pep.svc/cpu-request"], memory: options["pep.svc/memory-request"] },
    },
    volumeMounts: mountsOf(options),
    startupProbe: { ...probe("/__svc/readyz"), periodSeconds: 1, failureThreshold: 60 },
    readinessProbe: { ...probe("/__svc/readyz"), periodSeconds: 5, failureThreshold: 3 },
    livenessProbe: { ...probe("/__svc/livez"), periodSeconds: 10, failureThreshold: 3 },
    ...containerDefaults,
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ["ALL"] },
      readOnlyRootFilesystem: true,
      runAsGroup: options["pep.svc/group-id"],
      runAsNonRoot: true,
      runAsUser: options["pep.svc/user-id"],
      seccompProfile: { type: "RuntimeDefault" },
    },
  };
}

function environmentOf(controlPlaneUrl: string, options: PodOptions) {
  const settings: Record<string, string | number | undefined> = {
    SVC_CONTROL_PLANE_URL: controlPlaneUrl,
    SVC_CONTROL_PLANE_CA_FILE: controlPlaneUrl.startsWith("https:") ? `${folders.secret}/ca.crt` : undefined,
    SVC_PEP_CONFIG: `${folders.config}/pep.yaml`,
    SVC_PEP_LISTEN: `127.0.0.1:${agentPort}`,
    SVC_PEP_ADMIN_LISTEN: `[::]:${adminPort}`,
    SVC_PEP_MODE: options["pep.svc/mode"],
    SVC_PEP_OBSERVE_UNDECIDED: options["pep.svc/observe-undecided"],
    SVC_PEP_OBSERVE_UNLISTED: options["pep.svc/observe-unlisted"],
    SVC_PEP_BIND_CAP_BYTES: options["pep.svc/bind-cap-bytes"],
    SVC_PEP_GRACE_SECONDS: graceSecondsOf(options),
    SVC_PEP_UPSTREAM_TIMEOUT_SECONDS: options["pep.svc/upstream-timeout-seconds"],
    SVC_PEP_RENEWAL_IDLE_SECONDS: options["pep.svc/renewal-idle-seconds"],
    SVC_PEP_SESSION_FILE: options["pep.svc/session-secret"] && `${folders.session}/session.json`,
    SVC_PEP_STATE_DIR: folders.state,
    SVC_PEP_AGENT_NAME: options["pep.svc/agent-name"],
    SVC_PEP_AGENT_KEY_FILE: options["pep.svc/agent-key-secret"] && `${folders["agent-key"]}/key.pem`,
    SVC_PEP_QUIT: options["pep.svc/quit"] ? "true" : undefined,
    SVC_PEP_PUBLIC_URL: options["pep.svc/public-url"],
    SVC_PEP_ENFORCEMENT_TOKEN_FILE: options["pep.svc/enforcement-secret"] && `${folders.enforcement}/token`,
    SVC_TELEMETRY_KEY_FILE: `${folders.secret}/telemetry-key`,
    SVC_LOG_LEVEL: options["pep.svc/log-level"],
  };
  return Object.entries(settings).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value: String(value) }],
  );
}

/** A native sidecar gets SIGTERM after every other container has ended, so a job need not wait for it. */
const nativeGraceSeconds = 2;

const graceSecondsOf = (options: PodOptions): number | undefined =>
  options["pep.svc/grace-seconds"] ?? (options["pep.svc/native-sidecar"] ? nativeGraceSeconds : undefined);

/** Mode 0444: the pod may set no `fsGroup`, and only our container mounts them. */
const fileMode = 0o444;

/** The content of each folder that the sidecar mounts. */
function contents(options: PodOptions): [folder: keyof typeof folders, source: object][] {
  const secret = (folder: keyof typeof folders, secretName: string | undefined): [typeof folder, object][] =>
    secretName === undefined ? [] : [[folder, { secret: { secretName, defaultMode: fileMode } }]];
  return [
    ["config", { configMap: { name: options["pep.svc/config"], defaultMode: fileMode } }],
    ...secret("secret", options["pep.svc/secret"]),
    ...secret("session", options["pep.svc/session-secret"]),
    ...secret("agent-key", options["pep.svc/agent-key-secret"]),
    ...secret("enforcement", options["pep.svc/enforcement-secret"]),
    // In memory: renewed tokens must not reach a disk.
    ["state", { emptyDir: { medium: "Memory", sizeLimit: "16Mi" } }],
  ];
}

const mountsOf = (options: PodOptions) =>
  contents(options).map(([folder]) => ({
    name: `${ownPrefix}-${folder}`,
    mountPath: folders[folder],
    ...(folder !== "state" && { readOnly: true }),
  }));

export const volumesOf = (options: PodOptions) =>
  contents(options).map(([folder, source]) => ({ name: `${ownPrefix}-${folder}`, ...source }));
