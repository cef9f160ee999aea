import { isDeepStrictEqual } from "node:util";
import type { Injection } from "./config.ts";
import { meshInitCount } from "./mesh.ts";
import type { PodOptions } from "./options.ts";
import type { Addition, Container, Pod } from "./pod.ts";
import { missingProxyVariables } from "./proxy-env.ts";
import { redirectOf } from "./redirect.ts";
import { ownPrefix, redirectName, sidecarName, sidecarOf, volumesOf } from "./sidecar.ts";
import { statusAnnotation } from "./wishes.ts";

const defaultContainerAnnotation = "kubectl.kubernetes.io/default-container";

export type Patched =
  | { readonly kind: "patched"; readonly patch: readonly Addition[] }
  | { readonly kind: "refused"; readonly reason: string };

/**
 * The additions that put the enforcement point beside the pod's containers; none where it stands there already, exactly
 * as it would be put there (contract: Kubernetes names).
 */
export function patchOf(pod: Pod, injection: Injection, options: PodOptions): Patched {
  const sidecar = sidecarOf(injection, options);
  const redirect = redirectOf(injection, options);
  const volumes = volumesOf(options);
  const standing = ownParts(pod);
  if (standing.containers.length + standing.volumes.length > 0) {
    const isSame =
      isDeepStrictEqual(standing.containers.map(withoutServiceAccount), redirect ? [redirect, sidecar] : [sidecar]) &&
      isDeepStrictEqual(standing.volumes, volumes);
    if (!isSame) return { kind: "refused", reason: changedReason };
    return { kind: "patched", patch: [...annotations(pod), ...proxyEnvironment(pod, options)] };
  }
  const isNative = options["pep.svc/native-sidecar"];
  const first = redirect === undefined ? [] : [redirect];
  return {
    kind: "patched",
    patch: [
      ...annotations(pod),
      ...insert(
        "/spec/initContainers",
        pod.spec.initContainers,
        meshInitCount(pod),
        isNative ? [...first, sidecar] : first,
      ),
      ...(isNative ? [] : insert("/spec/containers", pod.spec.containers, pod.spec.containers.length, [sidecar])),
      ...insert("/spec/volumes", pod.spec.volumes, pod.spec.volumes?.length ?? 0, volumes),
      ...proxyEnvironment(pod, options),
    ],
  };
}

const changedReason = `the pod brings a container or volume named ${ownPrefix} that is not what would be injected: take all of them out, the injector adds them`;

/** Ours in the pod, in the order in which they are put there. */
function ownParts({ spec }: Pod) {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  return {
    containers: containers.filter(({ name }) => name === sidecarName || name === redirectName),
    volumes: (spec.volumes ?? []).filter(({ name }) => name.startsWith(ownPrefix)),
  };
}

/** The API server mounts the pod's service account into every container, ours among them. */
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
    // Without it kubectl would speak to whichever container comes first.
    ...(first !== undefined && { [defaultContainerAnnotation]: first.name }),
  };
  const { annotations: standing } = metadata;
  if (standing === undefined) return [{ op: "add", path: "/metadata/annotations", value: wanted }];
  return Object.entries(wanted)
    .filter(([name]) => name === statusAnnotation || standing[name] === undefined)
    .filter(([name, value]) => standing[name] !== value)
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
