import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { chartFolder, helm } from "./helm.ts";

/** A rendered Kubernetes object. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: typed-objects.ts checks each kind's members
  readonly [member: string]: any;
}

export interface Rendering {
  /** Values files of the chart, as `values-staging.yaml`. */
  readonly files?: readonly string[];
  /** Values that override those of the files. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** API versions of the cluster beside Kubernetes' own, as `monitoring.coreos.com/v1/PodMonitor`. */
  readonly apis?: readonly string[];
  readonly kubeVersion?: string;
}

export const releaseName = "authz";
export const releaseNamespace = "svc-system";

/** Arguments of any helm command that renders the chart. */
export const renderArguments = ({ files = [], values = {}, apis = [], kubeVersion }: Rendering): readonly string[] => [
  ...["--namespace", releaseNamespace],
  ...files.flatMap((file) => ["--values", join(chartFolder, file)]),
  ...Object.entries(values).flatMap(([name, value]) => ["--set-json", `${name}=${JSON.stringify(value)}`]),
  ...apis.flatMap((api) => ["--api-versions", api]),
  ...(kubeVersion === undefined ? [] : ["--kube-version", kubeVersion]),
];

const rendered = new Map<string, Promise<readonly KubernetesObject[]>>();

/** Renders the chart with hooks and tests, cached by values. @throws with helm's output */
export function render(rendering: Rendering = {}): Promise<readonly KubernetesObject[]> {
  const args = renderArguments(rendering);
  const key = JSON.stringify(args);
  const objects = rendered.get(key) ?? renderedBy(args);
  rendered.set(key, objects);
  return objects;
}

async function renderedBy(args: readonly string[]): Promise<readonly KubernetesObject[]> {
  const { code, stdout, stderr } = await helm(["template", releaseName, chartFolder, ...args]);
  if (code !== 0) throw new Error(stderr);
  return objectsOf(stdout);
}

/** YAML 1.1, as Kubernetes reads it: `on` is a boolean, `0440` is octal. */
export const objectsOf = (text: string): readonly KubernetesObject[] =>
  parseAllDocuments(text, { version: "1.1", uniqueKeys: true }).flatMap((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    const object = document.toJS() as KubernetesObject | null;
    return object === null ? [] : [object];
  });

/** The one object of this kind whose name has this ending. */
export function objectOf(objects: readonly KubernetesObject[], kind: string, ending = ""): KubernetesObject {
  const [found, ...more] = objects.filter(({ kind: is, metadata }) => is === kind && metadata.name.endsWith(ending));
  if (found === undefined || more.length > 0) throw new Error(`${more.length + 1} or no ${kind} *${ending}`);
  return found;
}
