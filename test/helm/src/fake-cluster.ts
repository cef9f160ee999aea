import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubernetesObject } from "./render.ts";

/** The part of an API server that helm's lookup of Secrets needs: the list of kinds, and one Secret by name. */
export interface FakeCluster {
  /** For helm's environment. */
  readonly env: { readonly KUBECONFIG: string };
  /** Sets the cluster's Secrets. */
  holds(secrets: readonly KubernetesObject[]): void;
  stop(): Promise<void>;
}

/** Kinds of the chart's objects; helm checks that the cluster has each. */
const kinds: Readonly<Record<string, readonly string[]>> = {
  v1: ["ConfigMap", "Pod", "Secret", "Service", "ServiceAccount"],
  "admissionregistration.k8s.io/v1": ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
  "apps/v1": ["Deployment"],
  "autoscaling/v2": ["HorizontalPodAutoscaler"],
  "batch/v1": ["Job"],
  "networking.k8s.io/v1": ["NetworkPolicy"],
  "policy/v1": ["PodDisruptionBudget"],
};

const resourceOf = (kind: string) => ({
  name: `${kind.toLowerCase()}s`.replace(/ys$/, "ies"),
  singularName: kind.toLowerCase(),
  kind,
  namespaced: !kind.endsWith("WebhookConfiguration"),
  verbs: ["get"],
});

const groups = Object.keys(kinds).flatMap((groupVersion) => {
  const [name = "", version] = groupVersion.split("/");
  const named = { groupVersion, version };
  return version === undefined ? [] : [{ name, versions: [named], preferredVersion: named }];
});

const discovery: Readonly<Record<string, object>> = {
  "/version": { major: "1", minor: "35", gitVersion: "v1.35.0" },
  "/api": { kind: "APIVersions", versions: ["v1"] },
  "/apis": { kind: "APIGroupList", apiVersion: "v1", groups },
  ...Object.fromEntries(
    Object.entries(kinds).map(([groupVersion, ofVersion]) => [
      groupVersion === "v1" ? "/api/v1" : `/apis/${groupVersion}`,
      { kind: "APIResourceList", groupVersion, resources: ofVersion.map(resourceOf) },
    ]),
  ),
};

export async function startFakeCluster(): Promise<FakeCluster> {
  let secrets: readonly KubernetesObject[] = [];
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://cluster");
    const [, namespace, name] = /^\/api\/v1\/namespaces\/([^/]+)\/secrets\/([^/]+)$/.exec(pathname) ?? [];
    const found = secrets.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
    reply(response, discovery[pathname] ?? found);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const folder = await mkdtemp(join(tmpdir(), "svc-cluster-"));
  const file = join(folder, "kubeconfig");
  await writeFile(file, kubeconfigOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  return {
    env: { KUBECONFIG: file },
    holds: (standing) => {
      secrets = standing;
    },
    async stop() {
      server.close();
      server.closeAllConnections();
      await rm(folder, { recursive: true });
    },
  };
}

function reply(response: ServerResponse, body: object | undefined): void {
  const missing = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "NotFound", code: 404 };
  response.writeHead(body === undefined ? 404 : 200, { "content-type": "application/json" });
  response.end(JSON.stringify(body ?? missing));
}

const kubeconfigOf = (server: string): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "fake", cluster: { server } }],
    contexts: [{ name: "fake", context: { cluster: "fake", user: "nobody" } }],
    users: [{ name: "nobody", user: {} }],
    "current-context": "fake",
  });
