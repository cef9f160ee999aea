import type { PodOptions } from "./options.ts";
import type { Container, Pod } from "./pod.ts";
import { ownPrefix } from "./sidecar.ts";

/**
 * Who else in the pod would read the enforcement point's Secrets, by whatever name: with them an agent could sign its own
 * proofs, or take the lent session past the sidecar.
 */
export function secretReaders({ spec }: Pod, others: readonly Container[], options: PodOptions): readonly string[] {
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
