import type { Pod } from "./pod.ts";

const meshContainers: readonly string[] = [
  "istio-init",
  "istio-validation",
  "istio-proxy",
  "linkerd-init",
  "linkerd-network-validator",
  "linkerd-proxy",
];

export const isMeshContainer = (name: string): boolean => meshContainers.includes(name);

/** A mesh's init containers stay first: our traffic passes the mesh. */
export const meshInitCount = ({ spec }: Pod): number =>
  (spec.initContainers ?? []).findLastIndex(({ name }) => isMeshContainer(name)) + 1;
