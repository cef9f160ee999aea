import type { Injection } from "./config.ts";
import type { PodOptions } from "./options.ts";
import type { Container, Pod } from "./pod.ts";
import { adminPort, agentPort, ownPrefix, redirectName, sidecarName, sidecarUid } from "./sidecar.ts";

/**
 * Why an enforcement point beside this pod's containers would not hold, each as a sentence that says what to change.
 * Our own containers are judged elsewhere.
 */
export function refusalsOf({ spec }: Pod, injection: Injection, options: PodOptions): readonly string[] {
  const others = [...(spec.initContainers ?? []), ...spec.containers].filter(({ name }) => !isOwn(name));
  const rules = [
    spec.hostNetwork === true &&
      "hostNetwork shares the node's loopback, where any process could use the enforcement point: take it out",
    spec.shareProcessNamespace === true &&
      "shareProcessNamespace lets the agent look into the enforcement point's memory and files: take it out",
    (spec.os?.name === "windows" || spec.nodeSelector?.["kubernetes.io/os"] === "windows") &&
      "the enforcement point runs on Linux: schedule the pod there",
    ...others.flatMap((container) => faultsOf(container)),
    ...(options["pep.svc/redirect-ports"] === undefined ? [] : redirectFaults(spec, injection, others)),
    ...(options["pep.svc/proxy-env"] ? others.flatMap(proxyFaults) : []),
  ];
  return rules.filter((fault) => fault !== false);
}

const isOwn = (name: string): boolean => name === sidecarName || name === redirectName;

function faultsOf({ name, ports = [], volumeMounts = [] }: Container): readonly string[] {
  const taken = ports
    .map(({ containerPort }) => containerPort)
    .filter((port) => port === agentPort || port === adminPort);
  const mounted = volumeMounts.filter((mount) => mount.name.startsWith(ownPrefix)).map((mount) => mount.name);
  return [
    ...taken.map((port) => `container ${name} uses port ${port}, which is the enforcement point's: choose another`),
    ...mounted.map((volume) => `container ${name} mounts ${volume}, which holds the enforcement point's secrets`),
    ...(name.startsWith(ownPrefix)
      ? [`container ${name}: names that begin with ${ownPrefix} are ours, rename it`]
      : []),
  ];
}

/** Whoever may change the network's rules, or runs as the user that the redirect lets pass, is not redirected. */
function redirectFaults(spec: Pod["spec"], { redirectImage }: Injection, others: readonly Container[]) {
  const mesh = others.find(({ name }) => isMeshProxy(name));
  return [
    redirectImage === undefined &&
      "pep.svc/redirect-ports needs SVC_INJECTOR_REDIRECT_IMAGE, which the injector was not given",
    mesh !== undefined &&
      `pep.svc/redirect-ports does not go with ${mesh.name}, which redirects the same packets: use pep.svc/proxy-env`,
    ...others.flatMap(({ name, securityContext }) => [
      (securityContext?.runAsUser ?? spec.securityContext?.runAsUser) === sidecarUid &&
        `container ${name} runs as user ${sidecarUid}, which is not redirected: choose another`,
      (securityContext?.privileged === true || mayChangeNetwork(securityContext?.capabilities?.add ?? [])) &&
        `container ${name} may change the network's rules, and so undo the redirect: take the capability out`,
    ]),
  ];
}

const mayChangeNetwork = (added: readonly string[]): boolean =>
  added.some((name) => ["ALL", "NET_ADMIN", "SYS_ADMIN", "SETUID", "CAP_NET_ADMIN", "CAP_SYS_ADMIN"].includes(name));

export const proxyUrl = `http://127.0.0.1:${agentPort}`;
export const proxyVariables = ["HTTP_PROXY", "http_proxy"] as const;

const proxyFaults = ({ name, env = [] }: Container): readonly string[] =>
  env
    .filter((variable) => proxyVariables.some((ours) => ours === variable.name) && variable.value !== proxyUrl)
    .map((variable) => `container ${name} sets ${variable.name} itself: take it out, or pep.svc/proxy-env`);

const meshProxies = [
  "istio-init",
  "istio-validation",
  "istio-proxy",
  "linkerd-init",
  "linkerd-network-validator",
  "linkerd-proxy",
];
export const isMeshProxy = (name: string): boolean => meshProxies.includes(name);
