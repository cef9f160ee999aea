import { isDeepStrictEqual } from "node:util";
import type { Injection } from "./config.ts";
import { ownParts } from "./own-parts.ts";
import type { Container, Pod } from "./pod.ts";
import { injectLabel } from "./pod-request.ts";
import { restrictedContainerFaults } from "./pod-security.ts";
import { escapesOf } from "./redirect.ts";
import { containerFaults, secretsIn } from "./refusals.ts";
import { redirectName, sidecarName, volumesOf } from "./sidecar.ts";

/** What a change to a running pod does to the enforcement point in it; nothing where the pod has none. */
export interface UpdateFaults {
  /** In any namespace. */
  readonly faults: readonly string[];
  /** Below the restricted standard. */
  readonly belowFloor: readonly string[];
}

/** Images, debug containers and labels of a running pod can be changed (Kubernetes: Pod update and replacement). */
export function updateFaults(pod: Pod, old: Pod, { defaults }: Injection): UpdateFaults {
  const own = ownParts(old);
  const [sidecar] = own.containers.filter(({ name }) => name === sidecarName);
  if (sidecar === undefined) return { faults: [], belowFloor: [] };
  const { securityContext } = pod.spec;
  const added = addedContainers(pod, old);
  const secrets = secretsIn([...own.volumes, ...volumesOf(defaults)]);
  const isRedirected = own.containers.some(({ name }) => name === redirectName);
  const exemptUser = sidecar.securityContext?.runAsUser ?? Number.NaN;
  return {
    faults: [
      ...(isDeepStrictEqual(ownParts(pod), own)
        ? []
        : [`${sidecarName} of a running pod cannot be changed: delete the pod, and its successor gets the new one`]),
      ...(pod.metadata.labels?.[injectLabel] === old.metadata.labels?.[injectLabel]
        ? []
        : [`label ${injectLabel} of a running pod cannot be changed, changes of the pod are reviewed by it`]),
      ...added.flatMap((container) => [...containerFaults(container, secrets), ...targetFaults(container)]),
      ...(isRedirected ? added.flatMap((container) => escapesOf(container, securityContext, exemptUser)) : []),
    ],
    belowFloor: added.flatMap((container) => restrictedContainerFaults(container, securityContext)),
  };
}

function addedContainers({ spec }: Pod, old: Pod): readonly Container[] {
  const known = new Map((old.spec.ephemeralContainers ?? []).map((container) => [container.name, container]));
  return (spec.ephemeralContainers ?? []).filter(
    (container) => !isDeepStrictEqual(known.get(container.name), container),
  );
}

const targetFaults = ({ name, targetContainerName = "" }: Container): readonly string[] =>
  targetContainerName === sidecarName || targetContainerName === redirectName
    ? [`container ${name} may not share the processes of ${targetContainerName}: target another container`]
    : [];
