import type { Injection } from "./config.ts";
import type { PodOptions } from "./options.ts";
import { type Container, isMeshContainer, type SecurityContext } from "./pod.ts";
import { confinementFaults } from "./pod-security.ts";
import { agentPort, containerDefaults, redirectName } from "./sidecar.ts";

/**
 * Redirects connections to those ports, of every user but the enforcement point's, to its listener. IPv6 is redirected to
 * `::1`, where nothing listens: refused rather than unguarded. Undefined without the annotation.
 */
export function redirectOf({ redirectImage }: Injection, options: PodOptions) {
  const ports = options["pep.svc/redirect-ports"];
  if (ports === undefined) return undefined;
  const rule = `-t nat -A OUTPUT -p tcp -m owner ! --uid-owner ${options["pep.svc/user-id"]} -m multiport --dports ${ports.join(",")}`;
  const redirect = `-j REDIRECT --to-ports ${agentPort}`;
  return {
    name: redirectName,
    image: redirectImage,
    command: ["/bin/sh", "-euc"],
    args: [`iptables ${rule} ! -d 127.0.0.0/8 ${redirect}\nip6tables ${rule} ! -d ::1/128 ${redirect}`],
    resources: { limits: { memory: "32Mi" }, requests: { cpu: "10m", memory: "16Mi" } },
    ...containerDefaults,
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { add: ["NET_ADMIN", "NET_RAW"], drop: ["ALL"] },
      readOnlyRootFilesystem: false,
      runAsNonRoot: false,
      runAsUser: 0,
      seccompProfile: { type: "RuntimeDefault" },
    },
  };
}

/** Why the redirect cannot be made. */
export function redirectFaults({ redirectImage }: Injection, others: readonly Container[]): readonly string[] {
  const mesh = others.find(({ name }) => isMeshContainer(name));
  const rules = [
    redirectImage === undefined &&
      "pep.svc/redirect-ports needs SVC_INJECTOR_REDIRECT_IMAGE, which the injector does not have",
    mesh !== undefined &&
      `pep.svc/redirect-ports does not go with ${mesh.name}, which redirects the same packets: use pep.svc/proxy-env`,
  ];
  return rules.filter((fault) => fault !== false);
}

/**
 * Why a container would not be redirected: it runs as the user that is let pass, or can become that user, change the
 * network's rules or send packets of its own. An unset field counts against it: an image may set that user.
 */
export function escapesOf(container: Container, ofPod: SecurityContext, exemptUser: number): readonly string[] {
  const { name, securityContext } = container;
  const user = securityContext?.runAsUser ?? ofPod?.runAsUser;
  return [
    ...(user === undefined ? [`container ${name} does not set runAsUser: set it to another than ${exemptUser}`] : []),
    ...(user === exemptUser
      ? [`container ${name} runs as user ${exemptUser}, which is not redirected: choose another`]
      : []),
    ...confinementFaults(container).map((fault) => `${fault}, or it may undo or pass by the redirect`),
  ];
}
