import type { Injection } from "./config.ts";
import type { PodOptions } from "./options.ts";
import type { Container, Pod } from "./pod.ts";
import { proxyFaults, redirectFaults } from "./redirect.ts";
import { adminPort, agentPort, ownPrefix, redirectName, sidecarName } from "./sidecar.ts";

/** Why an enforcement point could not guard this pod: one sentence each, with what to change. */
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

/** Other readers of our Secrets: an agent could sign its own proofs, or use the session without the sidecar. */
function secretReaders({ spec }: Pod, others: readonly Container[], options: PodOptions): readonly string[] {
  const ours = new Set([
    options["pep.svc/secret"],
    options["pep.svc/session-secret"],
    options["pep.svc/agent-key-secret"],
  ]);
  const isOurs = (name: string | undefined): name is string => name !== undefined && ours.has(name);
  const foreign = (spec.volumes ?? []).filter(({ name }) => !name.startsWith(ownPrefix));
  return [
    ...foreign.flatMap(({ name, secret, projected }) =>
      [secret?.secretName, ...(projected?.sources ?? []).map((source) => source.secret?.name)]
        .filter(isOurs)
        .map((held) => `volume ${name} holds Secret ${held}, ${onlyOurs}`),
    ),
    ...others.flatMap(({ name, env = [], envFrom = [] }) =>
      [...env.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name), ...envFrom.map(({ secretRef }) => secretRef?.name)]
        .filter(isOurs)
        .map((read) => `container ${name} reads Secret ${read}, ${onlyOurs}`),
    ),
  ];
}

const onlyOurs = "which is the enforcement point's alone: take it out, or name another in the annotation";
