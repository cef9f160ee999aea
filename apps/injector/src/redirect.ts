import type { Injection } from "./config.ts";
import type { PodOptions } from "./options.ts";
import { type Container, isMeshContainer, type Pod } from "./pod.ts";
import { agentPort, containerDefaults, redirectName, sidecarUid } from "./sidecar.ts";

/**
 * Redirects connections to those ports, of every user but the enforcement point's, to its listener. IPv6 is redirected to
 * `::1`, where nothing listens: refused rather than unguarded. Undefined without the annotation.
 */
export function redirectOf({ redirectImage }: Injection, options: PodOptions) {
  const ports = options["pep.svc/redirect-ports"];
  if (ports === undefined) return undefined;
  const rule = `-t nat -A OUTPUT -p tcp -m owner ! --uid-owner ${sidecarUid} -m multiport --dports ${ports.join(",")}`;
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

/**
 * Why the redirect would not hold: a container can change the network's rules, or can run as the user that is not
 * redirected. An unset field counts against the pod: an image may set that user, and default capabilities allow it.
 */
export function redirectFaults(spec: Pod["spec"], { redirectImage }: Injection, others: readonly Container[]) {
  const mesh = others.find(({ name }) => isMeshContainer(name));
  return [
    redirectImage === undefined &&
      "pep.svc/redirect-ports needs SVC_INJECTOR_REDIRECT_IMAGE, which the injector does not have",
    mesh !== undefined &&
      `pep.svc/redirect-ports does not go with ${mesh.name}, which redirects the same packets: use pep.svc/proxy-env`,
    ...others.flatMap(({ name, securityContext }) => {
      const user = securityContext?.runAsUser ?? spec.securityContext?.runAsUser;
      const { add = [], drop = [] } = securityContext?.capabilities ?? {};
      const isPrivileged = securityContext?.privileged === true;
      return [
        user === undefined && `container ${name} does not set runAsUser: set it to another than ${sidecarUid}`,
        user === sidecarUid && `container ${name} runs as user ${sidecarUid}, which is not redirected: choose another`,
        (isPrivileged || add.some(changesNetwork)) &&
          `container ${name} may change the network's rules, and so undo the redirect: take the capability out`,
        (isPrivileged || add.some(changesUser) || !drop.some(changesUser)) &&
          `container ${name} may become user ${sidecarUid}, which is not redirected: drop ALL capabilities, or SETUID`,
      ];
    }),
  ];
}

/** Kubernetes accepts both spellings. */
const among =
  (...capabilities: readonly string[]) =>
  (name: string): boolean =>
    capabilities.includes(name.toUpperCase().replace(/^CAP_/, ""));

const changesNetwork = among("ALL", "NET_ADMIN", "SYS_ADMIN");
const changesUser = among("ALL", "SETUID");

const proxyUrl = `http://127.0.0.1:${agentPort}`;
const proxyVariables = ["HTTP_PROXY", "http_proxy"] as const;

export const missingProxyVariables = ({ env = [] }: Container) =>
  proxyVariables
    .filter((variable) => !env.some(({ name }) => name === variable))
    .map((name) => ({ name, value: proxyUrl }));

/** Programs differ in which of two proxy settings they use. */
export const proxyFaults = ({ name, env = [] }: Container): readonly string[] =>
  env
    .filter((variable) => proxyVariables.some((ours) => ours === variable.name) && variable.value !== proxyUrl)
    .map((variable) => `container ${name} sets ${variable.name} itself: take it out, or pep.svc/proxy-env`);
