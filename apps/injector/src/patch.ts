import { isDeepStrictEqual } from "node:util";
import type { Injection } from "./config.ts";
import type { PodOptions } from "./options.ts";
import { type Addition, type Container, meshInitCount, type Pod } from "./pod.ts";
import { statusAnnotation } from "./pod-request.ts";
import { missingProxyVariables, redirectOf } from "./redirect.ts";
import { ownPrefix, redirectName, sidecarName, sidecarOf, volumesOf } from "./sidecar.ts";

const defaultContainerAnnotation = "kubectl.kubernetes.io/default-container";

/**
 * The additions that inject the enforcement point; none if it was injected before, undefined if the pod
 * has containers or volumes of our names that differ
 * (docs/reference/kubernetes.md#labels-and-annotations).
 */
export function patchOf(pod: Pod, injection: Injection, options: PodOptions): readonly Addition[] | undefined {
  const sidecar = sidecarOf(injection, options);
  const redirect = redirectOf(injection, options);
  const volumes = volumesOf(options);
  const present = ownParts(pod);
  if (present.containers.length + present.volumes.length > 0) {
    const isSame =
      isDeepStrictEqual(present.containers.map(withoutServiceAccount), redirect ? [redirect, sidecar] : [sidecar]) &&
      isDeepStrictEqual(present.volumes, volumes);
    return isSame ? [...annotations(pod), ...proxyEnvironment(pod, options)] : undefined;
  }
  const isNative = options["pep.svc/native-sidecar"];
  const initContainers = [...(redirect === undefined ? [] : [redirect]), ...(isNative ? [sidecar] : [])];
  return [
    ...annotations(pod),
    ...insert("/spec/initContainers", pod.spec.initContainers, meshInitCount(pod), initContainers),
    ...(isNative ? [] : insert("/spec/containers", pod.spec.containers, pod.spec.containers.length, [sidecar])),
    ...insert("/spec/volumes", pod.spec.volumes, pod.spec.volumes?.length ?? 0, volumes),
    ...proxyEnvironment(pod, options),
  ];
}

/** Our containers and volumes in the pod, in the order of injection. */
function ownParts({ spec }: Pod) {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  return {
    containers: containers.filter(({ name }) => name === sidecarName || name === redirectName),
    volumes: (spec.volumes ?? []).filter(({ name }) => name.startsWith(ownPrefix)),
  };
}

/** The API server mounts the pod's service account into every container. */
const withoutServiceAccount = (container: Container): Container => {
  const { volumeMounts = [], ...rest } = container;
  const kept = volumeMounts.filter(
    (mount) =>
      mount.mountPath !== "/var/run/secrets/kubernetes.io/serviceaccount" || !mount.name.startsWith("kube-api-access-"),
  );
  return kept.length === 0 ? rest : { ...rest, volumeMounts: kept };
};

/** RFC 6901: `~` and `/` in a member's name. */
const escaped = (name: string): string => name.replaceAll("~", "~0").replaceAll("/", "~1");

function annotations({ metadata, spec }: Pod): readonly Addition[] {
  const [first] = spec.containers;
  const wanted: Record<string, string> = {
    [statusAnnotation]: "injected",
    // Otherwise kubectl uses the first container.
    ...(first !== undefined && { [defaultContainerAnnotation]: first.name }),
  };
  const { annotations: present } = metadata;
  if (present === undefined) return [{ op: "add", path: "/metadata/annotations", value: wanted }];
  return Object.entries(wanted)
    .filter(([name]) => name === statusAnnotation || present[name] === undefined)
    .filter(([name, value]) => present[name] !== value)
    .map(([name, value]) => ({ op: "add", path: `/metadata/annotations/${escaped(name)}`, value }));
}

function insert(path: string, list: readonly unknown[] | undefined, at: number, items: readonly unknown[]): Addition[] {
  if (items.length === 0) return [];
  if (list === undefined) return [{ op: "add", path, value: items }];
  return items.map((value, index) => ({ op: "add", path: `${path}/${at + index}`, value }));
}

function proxyEnvironment({ spec }: Pod, options: PodOptions): readonly Addition[] {
  if (!options["pep.svc/proxy-env"]) return [];
  return spec.containers.flatMap((container, index) => {
    const { name, env } = container;
    if (name === sidecarName) return [];
    return insert(`/spec/containers/${index}/env`, env, env?.length ?? 0, missingProxyVariables(container));
  });
}
