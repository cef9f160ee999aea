import { othersOf } from "./own-parts.ts";
import type { Container, Pod, SecurityContext } from "./pod.ts";

/**
 * What the restricted standard forbids (Kubernetes: Pod Security Standards, 1.37), read as lists of what is allowed. Its
 * exemptions for Windows and for user namespaces are not granted. Host network and host processes: `refusalsOf`.
 */
export function restrictedFaults(pod: Pod): readonly string[] {
  const { metadata, spec } = pod;
  const { annotations = {} } = metadata;
  const { volumes = [], securityContext } = spec;
  return [
    ...(spec.hostIPC === true ? ["hostIPC must be false"] : []),
    ...volumes.flatMap(({ name, ...source }) =>
      Object.keys(source)
        .filter((type) => !allowedVolumes.has(type))
        .map((type) => `volume ${name} may not be of type ${type}`),
    ),
    ...(securityContext?.sysctls ?? [])
      .filter(({ name }) => !allowedSysctls.has(name))
      .map(({ name }) => `sysctl ${name} may not be set`),
    ...Object.entries(annotations)
      .filter(
        ([name, profile]) => name.startsWith(appArmorPrefix) && !/^(?:runtime\/default$|localhost\/|$)/.test(profile),
      )
      .map(([name]) => `annotation ${name} must be runtime/default or localhost/...`),
    ...contextFaults("the pod", securityContext),
    ...othersOf(spec).flatMap((container) => restrictedContainerFaults(container, securityContext)),
  ];
}

/** The part of the standard that one container must meet, a debug container too. */
export function restrictedContainerFaults(container: Container, ofPod: SecurityContext): readonly string[] {
  const { name, ports = [], securityContext = {} } = container;
  const who = `container ${name}`;
  const { procMount = "Default", runAsNonRoot = ofPod?.runAsNonRoot } = securityContext;
  const seccomp = securityContext.seccompProfile ?? ofPod?.seccompProfile;
  const rules = [
    runAsNonRoot !== true && `${who} must set runAsNonRoot: true, or the pod must`,
    seccomp === undefined && `${who} must set seccompProfile.type: RuntimeDefault, or the pod must`,
    procMount !== "Default" && `${who} must set procMount: Default`,
    ports.some(({ hostPort = 0 }) => hostPort !== 0) && `${who} may not use a hostPort`,
    handlersOf(container).some((handler) => handler?.httpGet?.host || handler?.tcpSocket?.host) &&
      `${who} may not name a host in probes and lifecycle handlers`,
  ];
  return [
    ...confinementFaults(container),
    ...contextFaults(who, securityContext),
    ...rules.filter((fault) => fault !== false),
  ];
}

/** A confined process stays who it is: no set-user-ID file, no capability, no raw socket. */
export function confinementFaults({ name, securityContext = {} }: Container): readonly string[] {
  const { allowPrivilegeEscalation, capabilities, privileged = false } = securityContext;
  const added = (capabilities?.add ?? []).filter((capability) => capability !== "NET_BIND_SERVICE");
  const rules = [
    privileged && `container ${name} must not be privileged`,
    allowPrivilegeEscalation !== false && `container ${name} must set allowPrivilegeEscalation: false`,
    !(capabilities?.drop ?? []).includes("ALL") && `container ${name} must drop ALL capabilities`,
    added.length > 0 && `container ${name} may add no capability but NET_BIND_SERVICE, not ${added.join(", ")}`,
  ];
  return rules.filter((fault) => fault !== false);
}

/** What neither a pod nor a container may say. */
function contextFaults(who: string, context: SecurityContext): readonly string[] {
  const {
    appArmorProfile,
    runAsNonRoot,
    runAsUser,
    seccompProfile,
    seLinuxOptions = {},
    windowsOptions,
  } = context ?? {};
  const { type = "", user = "", role = "" } = seLinuxOptions;
  const rules = [
    runAsNonRoot === false && `${who} may not set runAsNonRoot: false`,
    runAsUser === 0 && `${who} may not set runAsUser: 0`,
    isUnconfined(seccompProfile) && `${who} must set seccompProfile.type: RuntimeDefault or Localhost`,
    isUnconfined(appArmorProfile) && `${who} must set appArmorProfile.type: RuntimeDefault or Localhost`,
    !allowedSeLinuxTypes.has(type) && `${who} may not set seLinuxOptions.type: ${type}`,
    user + role !== "" && `${who} may not set user or role in seLinuxOptions`,
    windowsOptions?.hostProcess === true && `${who} may not set windowsOptions.hostProcess`,
  ];
  return rules.filter((fault) => fault !== false);
}

const isUnconfined = (profile: { readonly type?: string | undefined } | undefined): boolean =>
  profile !== undefined && !["RuntimeDefault", "Localhost"].includes(profile.type ?? "");

const handlersOf = ({ livenessProbe, readinessProbe, startupProbe, lifecycle }: Container) => [
  ...[livenessProbe, readinessProbe, startupProbe],
  ...[lifecycle?.postStart, lifecycle?.preStop],
];

const appArmorPrefix = "container.apparmor.security.beta.kubernetes.io/";

const allowedVolumes = new Set([
  ...["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected"],
  "secret",
]);

const allowedSeLinuxTypes = new Set(["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"]);

const allowedSysctls = new Set([
  "kernel.shm_rmid_forced",
  ...[
    ...["ip_local_port_range", "ip_local_reserved_ports", "ip_unprivileged_port_start", "ping_group_range"],
    ...["tcp_fin_timeout", "tcp_keepalive_intvl", "tcp_keepalive_probes", "tcp_keepalive_time", "tcp_notsent_lowat"],
    ...["tcp_rmem", "tcp_slow_start_after_idle", "tcp_syncookies", "tcp_wmem"],
  ].map((name) => `net.ipv4.${name}`),
]);
