import type { Injection } from "./config.ts";
import type { PodOptions } from "./options.ts";
import type { Container, Pod } from "./pod.ts";
import { proxyFaults } from "./proxy-env.ts";
import { redirectFaults } from "./redirect-faults.ts";
import { secretReaders } from "./secret-readers.ts";
import { adminPort, agentPort, ownPrefix, redirectName, sidecarName } from "./sidecar.ts";

/**
 * Why an enforcement point beside this pod's containers would not hold, each as a sentence that says what to change.
 * Our own containers are judged elsewhere.
 */
export function refusalsOf(pod: Pod, injection: Injection, options: PodOptions): readonly string[] {
  const { spec } = pod;
  const others = [...(spec.initContainers ?? []), ...spec.containers].filter(({ name }) => !isOwn(name));
  const rules = [
    spec.hostNetwork === true &&
      "hostNetwork shares the node's loopback, where any process could use the enforcement point: take it out",
    spec.shareProcessNamespace === true &&
      "shareProcessNamespace lets the agent look into the enforcement point's memory and files: take it out",
    (spec.os?.name === "windows" || spec.nodeSelector?.["kubernetes.io/os"] === "windows") &&
      "the enforcement point runs on Linux: schedule the pod there",
    ...others.flatMap(faultsOf),
    ...secretReaders(pod, others, options),
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
