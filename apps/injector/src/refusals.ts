import type { Injection } from "./config.ts";
import type { PodOptions } from "./options.ts";
import { othersOf } from "./own-parts.ts";
import type { Container, Pod, PodSpec } from "./pod.ts";
import { proxyFaults } from "./proxy-env.ts";
import { escapesOf, redirectFaults } from "./redirect.ts";
import { adminPort, agentPort, ownPrefix, volumesOf } from "./sidecar.ts";

/** Why an enforcement point could not guard this pod, in any namespace: one sentence each, with what to change. */
export function refusalsOf({ spec }: Pod, injection: Injection, options: PodOptions): readonly string[] {
  const others = othersOf(spec);
  const secrets = secretsIn([...volumesOf(options), ...volumesOf(injection.defaults)]);
  const { "pep.svc/user-id": exemptUser } = options;
  return [
    ...podFaults(spec),
    ...completionFaults(spec, options),
    ...(injection.controlPlaneUrl.startsWith("https:") ? [] : nameFaults(spec)),
    ...(spec.volumes ?? [])
      .filter(({ name }) => !name.startsWith(ownPrefix))
      .flatMap((volume) => readersOf(secrets, volume, `volume ${volume.name} holds`)),
    ...others.flatMap((container) => containerFaults(container, secrets)),
    ...(options["pep.svc/redirect-ports"] === undefined
      ? []
      : [
          ...redirectFaults(injection, others),
          ...others.flatMap((container) => escapesOf(container, spec.securityContext, exemptUser)),
        ]),
    ...(options["pep.svc/proxy-env"] ? others.flatMap(proxyFaults) : []),
  ];
}

function podFaults(spec: PodSpec): readonly string[] {
  const rules = [
    spec.hostNetwork === true &&
      "hostNetwork shares the node's loopback, where any process could use the enforcement point: take it out",
    spec.hostPID === true && "hostPID lets the agent look into the enforcement point's memory and files: take it out",
    spec.shareProcessNamespace === true &&
      "shareProcessNamespace lets the agent look into the enforcement point's memory and files: take it out",
    mayBeWindows(spec) && "the enforcement point runs on Linux: schedule the pod there alone",
  ];
  return rules.filter((fault) => fault !== false);
}

/** A plain sidecar serves until a request to `/__svc/quit`, and the pod of a job completes only then. */
export const outlivesAgent = ({ restartPolicy = "Always" }: PodSpec, options: PodOptions): boolean =>
  restartPolicy !== "Always" && !options["pep.svc/native-sidecar"];

const completionFaults = (spec: PodSpec, options: PodOptions): readonly string[] =>
  outlivesAgent(spec, options) && !options["pep.svc/quit"]
    ? [
        `restartPolicy ${spec.restartPolicy} with pep.svc/native-sidecar: "false" never completes: leave that out, or ` +
          `set pep.svc/quit: "true" and let the agent end with ${quitCall}`,
      ]
    : [];

export const quitCall = `POST http://127.0.0.1:${agentPort}/__svc/quit`;

/** Names that the pod chooses would lead the enforcement point's tokens to a server of the agent's. */
export function nameFaults({ hostAliases = [], dnsPolicy, dnsConfig = {}, hostnameOverride }: PodSpec) {
  const rules = [
    hostAliases.length > 0 && "hostAliases",
    dnsPolicy === "None" && "dnsPolicy: None",
    (dnsConfig.nameservers ?? []).length > 0 && "dnsConfig.nameservers",
    (dnsConfig.searches ?? []).length > 0 && "dnsConfig.searches",
    hostnameOverride !== undefined && "hostnameOverride",
  ];
  return rules
    .filter((field) => field !== false)
    .map((field) => `${field} decides which servers the enforcement point finds: take it out`);
}

const osLabels: readonly string[] = ["kubernetes.io/os", "beta.kubernetes.io/os"];

function mayBeWindows({ os, nodeSelector = {}, affinity, securityContext, containers }: PodSpec): boolean {
  const { nodeSelectorTerms = [] } = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? {};
  return (
    os?.name === "windows" ||
    osLabels.some((label) => nodeSelector[label] === "windows") ||
    [securityContext, ...containers.map((container) => container.securityContext)].some(
      (context) => context?.windowsOptions !== undefined,
    ) ||
    nodeSelectorTerms.some(({ matchExpressions = [] }) =>
      matchExpressions.some(
        ({ key, operator, values = [] }) =>
          osLabels.includes(key) &&
          values.includes(operator === "NotIn" ? "linux" : "windows") &&
          operator.endsWith("In"),
      ),
    )
  );
}

/** What any other container of a guarded pod must not do, a debug container too. */
export function containerFaults(container: Container, secrets: ReadonlySet<string>): readonly string[] {
  const { name, ports = [], volumeMounts = [], volumeDevices = [], env = [] } = container;
  const taken = ports
    .map(({ containerPort }) => containerPort)
    .filter((port) => port === agentPort || port === adminPort);
  const files = env.map(({ valueFrom }) => valueFrom?.fileKeyRef?.volumeName ?? "");
  const used = [...[...volumeMounts, ...volumeDevices].map((mount) => mount.name), ...files];
  return [
    ...taken.map((port) => `container ${name} uses port ${port}, which is the enforcement point's: choose another`),
    ...used
      .filter((volume) => volume.startsWith(ownPrefix))
      .map((volume) => `container ${name} mounts ${volume}, which holds the enforcement point's secrets`),
    ...(name.startsWith(ownPrefix)
      ? [`container ${name}: names that begin with ${ownPrefix} are ours, rename it`]
      : []),
    ...readersOf(secrets, container, `container ${name} reads`),
  ];
}

/** Other readers of our Secrets: an agent could sign its own proofs, or use the session without the sidecar. */
const readersOf = (secrets: ReadonlySet<string>, part: object, how: string): readonly string[] =>
  [...secretsIn(part)]
    .filter((name) => secrets.has(name))
    .map(
      (name) =>
        `${how} Secret ${name}, which is the enforcement point's alone: take it out, or name another in the annotation`,
    );

/** Every Secret that a part of a pod names, by whatever field: `secretName`, `secret`, `secretRef`, `secretKeyRef`. */
export function secretsIn(part: object): ReadonlySet<string> {
  const namesIn = (value: unknown, isReference: boolean): readonly string[] => {
    if (typeof value !== "object" || value === null) return [];
    if (Array.isArray(value)) return value.flatMap((item) => namesIn(item, isReference));
    return Object.entries(value).flatMap(([field, inner]) => {
      const isSecret = /secret/i.test(field);
      if (typeof inner !== "string") return namesIn(inner, isSecret);
      return isSecret || (isReference && field === "name") ? [inner] : [];
    });
  };
  return new Set(namesIn(part, false));
}
