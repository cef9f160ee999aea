import type { Injection } from "./config.ts";
import type { PodOptions } from "./options.ts";
import { hasParts, meshInitCount, ownParts, type Parts } from "./own-parts.ts";
import type { Addition, Pod } from "./pod.ts";
import { statusAnnotation } from "./pod-request.ts";
import { missingProxyVariables } from "./proxy-env.ts";
import { redirectOf } from "./redirect.ts";
import { sidecarName, sidecarOf, volumesOf } from "./sidecar.ts";

const defaultContainerAnnotation = "kubectl.kubernetes.io/default-container";

/**
 * The additions that inject the enforcement point; none if it was injected before, undefined if the pod has containers or
 * volumes of our names that differ, or stand elsewhere (docs/reference/kubernetes.md#labels-and-annotations).
 */
export function patchOf(pod: Pod, injection: Injection, options: PodOptions): readonly Addition[] | undefined {
  const wanted = partsOf(injection, options);
  const present = ownParts(pod);
  const rest = [...annotations(pod), ...proxyEnvironment(pod, options)];
  if (present.containers.length + present.volumes.length > 0) return hasParts(pod, wanted) ? rest : undefined;
  const { initContainers, containers, volumes } = pod.spec;
  return [
    ...rest,
    ...insert("/spec/initContainers", initContainers, meshInitCount(pod), wanted.initContainers),
    ...insert("/spec/containers", containers, containers.length, wanted.containers),
    ...insert("/spec/volumes", volumes, volumes?.length ?? 0, wanted.volumes),
  ];
}

function partsOf(injection: Injection, options: PodOptions): Parts {
  const sidecar = sidecarOf(injection, options);
  const redirect = redirectOf(injection, options);
  const isNative = options["pep.svc/native-sidecar"];
  return {
    initContainers: [...(redirect === undefined ? [] : [redirect]), ...(isNative ? [sidecar] : [])],
    containers: isNative ? [] : [sidecar],
    volumes: volumesOf(options),
  };
}

/** RFC 6901: `~` and `/` in a member's name. */
const escaped = (name: string): string => name.replaceAll("~", "~0").replaceAll("/", "~1");

function annotations({ metadata, spec }: Pod): readonly Addition[] {
  const [first] = spec.containers.filter(({ name }) => name !== sidecarName);
  const wanted: Record<string, string> = {
    [statusAnnotation]: "injected",
    // Otherwise kubectl uses the first container.
    ...(first !== undefined && { [defaultContainerAnnotation]: first.name }),
  };
  const { annotations: present } = metadata;
  if (!present) return [{ op: "add", path: "/metadata/annotations", value: wanted }];
  return Object.entries(wanted)
    .filter(([name]) => name === statusAnnotation || present[name] === undefined)
    .filter(([name, value]) => present[name] !== value)
    .map(([name, value]) => ({ op: "add", path: `/metadata/annotations/${escaped(name)}`, value }));
}

function insert(path: string, list: readonly unknown[] | undefined, at: number, items: readonly unknown[]): Addition[] {
  if (items.length === 0) return [];
  if (!list) return [{ op: "add", path, value: items }];
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
