import type { KubernetesObject } from "./render.ts";

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly env?: readonly { readonly name: string; readonly value: string; readonly valueFrom?: unknown }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
  // biome-ignore lint/suspicious/noExplicitAny: checked against its own type, see typed-objects.ts
  readonly [member: string]: any;
}

/** The pod specification of a workload; none for other kinds. */
export function podSpecOf({ kind, spec }: KubernetesObject): KubernetesObject["spec"] | undefined {
  if (kind === "Pod") return spec;
  if (kind === "Deployment" || kind === "Job") return spec.template.spec;
  return undefined;
}

export function containerOf(object: KubernetesObject): Container {
  const [container, ...more] = podSpecOf(object)?.containers ?? [];
  if (container === undefined || more.length > 0) throw new Error(`${object.kind} does not have exactly one container`);
  return container;
}

/** The environment as the kubelet sets it: `$(NAME)` is replaced by an earlier variable, `$$` by `$`. */
export function environmentOf(object: KubernetesObject): Readonly<Record<string, string>> {
  const environment: Record<string, string> = {};
  for (const { name, value } of containerOf(object).env ?? []) {
    environment[name] = value.replaceAll(/\$\$|\$\(([^)]+)\)/g, (reference, variable) =>
      reference === "$$" ? "$" : (environment[variable] ?? reference),
    );
  }
  return environment;
}

/** The source of each file under a mounted Secret: path to Secret and key. */
export function secretFilesOf(object: KubernetesObject): ReadonlyMap<string, { secret: string; key: string }> {
  const { volumes = [] } = podSpecOf(object) ?? {};
  const files = new Map<string, { secret: string; key: string }>();
  for (const { name, mountPath } of containerOf(object).volumeMounts ?? []) {
    const volume = volumes.find((candidate: { name: string }) => candidate.name === name);
    const sources = volume?.projected?.sources ?? [volume];
    for (const source of sources) {
      const { secretName, name: projectedName, items } = source?.secret ?? {};
      for (const { key, path } of items ?? tlsItems) {
        const secret = secretName ?? projectedName;
        if (secret !== undefined) files.set(`${mountPath}/${path}`, { secret, key });
      }
    }
  }
  return files;
}

/** A Secret that is mounted whole: in this chart, one of type kubernetes.io/tls. */
const tlsItems = ["tls.crt", "tls.key", "ca.crt"].map((key) => ({ key, path: key }));
