import { isDeepStrictEqual } from "node:util";
import { type Container, isMeshContainer, type Pod, type PodSpec } from "./pod.ts";
import { amountOf } from "./quantity.ts";
import { ownPrefix, redirectName, sidecarName } from "./sidecar.ts";

const isOwn = ({ name }: { readonly name: string }): boolean => name === sidecarName || name === redirectName;

/** Every container that is not ours, a debug container too. */
export const othersOf = ({
  initContainers = [],
  containers,
  ephemeralContainers = [],
}: PodSpec): readonly Container[] => [
  ...[...initContainers, ...containers].filter((container) => !isOwn(container)),
  ...ephemeralContainers,
];

/** Our containers and volumes in the pod, in its order. */
export const ownParts = ({ spec }: Pod) => ({
  containers: [...(spec.initContainers ?? []), ...spec.containers].filter(isOwn),
  volumes: (spec.volumes ?? []).filter(({ name }) => name.startsWith(ownPrefix)),
});

/** What the injector adds to each list of a pod. */
export interface Parts {
  readonly initContainers: readonly object[];
  readonly containers: readonly object[];
  readonly volumes: readonly object[];
}

/** How many init containers of a mesh begin the list: our traffic passes the mesh, and what follows must be guarded. */
export function meshInitCount({ spec }: Pod): number {
  const names = (spec.initContainers ?? []).map(({ name }) => name);
  const first = names.findIndex((name) => !isMeshContainer(name));
  return first === -1 ? names.length : first;
}

/** Whether the pod has exactly these parts, where insertion puts them. A mesh's webhook may have added its own since. */
export function hasParts(pod: Pod, wanted: Parts): boolean {
  const { initContainers = [], containers } = pod.spec;
  const first = initContainers.findIndex(isOwn);
  const init = first === -1 ? [] : initContainers.slice(first, first + wanted.initContainers.length);
  const plain = containers.filter(isOwn);
  const after = containers.slice(containers.findIndex(isOwn) + plain.length);
  return (
    initContainers.filter(isOwn).length === init.length &&
    areSame(init, wanted.initContainers) &&
    initContainers.slice(0, Math.max(first, 0)).every(({ name }) => isMeshContainer(name)) &&
    areSame(plain, wanted.containers) &&
    (plain.length === 0 || after.every(({ name }) => isMeshContainer(name))) &&
    isDeepStrictEqual(ownParts(pod).volumes, wanted.volumes)
  );
}

const areSame = (present: readonly Container[], wanted: readonly object[]): boolean =>
  present.length === wanted.length && present.every((container, at) => isSame(container, wanted[at] as Container));

/**
 * Whether they differ in nothing but what the API server's own plugins add: the service account's mount, a LimitRange's
 * defaults for resources that we leave open, AlwaysPullImages. It also rewrites quantities.
 */
function isSame(present: Container, wanted: Container): boolean {
  const { volumeMounts = [], resources = {}, imagePullPolicy, ...rest } = present;
  const { volumeMounts: mounts = [], resources: given = {}, imagePullPolicy: policy, ...other } = wanted;
  return (
    isDeepStrictEqual(rest, other) &&
    (imagePullPolicy === policy || imagePullPolicy === "Always") &&
    isDeepStrictEqual(
      volumeMounts.filter((mount) => !isServiceAccount(mount)),
      mounts,
    ) &&
    isDeepStrictEqual(
      { ...resources, limits: undefined, requests: undefined },
      { limits: undefined, requests: undefined },
    ) &&
    haveAmounts(resources.limits, given.limits) &&
    haveAmounts(resources.requests, given.requests)
  );
}

const isServiceAccount = ({ name, mountPath }: { name: string; mountPath: string }): boolean =>
  mountPath === "/var/run/secrets/kubernetes.io/serviceaccount" && name.startsWith("kube-api-access-");

type Amounts = NonNullable<Container["resources"]>["limits"];

const haveAmounts = (present: Amounts = {}, wanted: Amounts = {}): boolean =>
  Object.entries(wanted).every(([resource, quantity]) => amountOf(present[resource] ?? "") === amountOf(quantity));
