import { beforeAll, describe, expect, test } from "vitest";
import { type KubernetesObject, objectOf, releaseNamespace, render } from "./src/render.ts";
import { type LabelSelector, type Labels, selects } from "./src/selects.ts";
import { variants } from "./src/variants.ts";

interface Peer {
  readonly namespaceSelector?: LabelSelector;
  readonly podSelector?: LabelSelector;
  readonly ipBlock?: { readonly cidr: string };
}

interface PolicyRule {
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
  readonly ports?: readonly { readonly port: number | string }[];
}

/** A pod: its namespace, that namespace's labels, and its own. */
interface End {
  readonly namespace: string;
  readonly ofNamespace?: Labels;
  readonly labels?: Labels;
}

/** Whether a peer of a policy in `own` is this pod (NetworkPolicyPeer: no namespaceSelector means the policy's own). */
const isPeer =
  (own: string, end: End) =>
  (peer: Peer): boolean => {
    const namespaceLabels = { "kubernetes.io/metadata.name": end.namespace, ...end.ofNamespace };
    if (peer.ipBlock !== undefined) return false;
    const isNamespace =
      peer.namespaceSelector === undefined ? end.namespace === own : selects(peer.namespaceSelector, namespaceLabels);
    return isNamespace && selects(peer.podSelector ?? {}, end.labels ?? {});
  };

const admits = (rules: readonly PolicyRule[], own: string, end: End, port: number | string): boolean =>
  rules.some(
    ({ from, to, ports }) =>
      (ports === undefined || ports.some((open) => open.port === port)) &&
      (from ?? to ?? [{ namespaceSelector: {} }]).some(isPeer(own, end)),
  );

let everything: readonly KubernetesObject[];
let production: readonly KubernetesObject[];
beforeAll(async () => {
  [everything, production] = await Promise.all([render(variants.everything), render(variants.production)]);
});

const dns: End = { namespace: "kube-system", labels: { "k8s-app": "kube-dns" } };
const tools: End = { namespace: "tools" };
const policy = (objects: readonly KubernetesObject[], namespace: string, ending: string) =>
  objectOf(
    objects.filter(({ metadata }) => metadata.namespace === namespace),
    "NetworkPolicy",
    ending,
  ).spec;

describe("an agent's pod", () => {
  const egress = (namespace: string) => policy(production, namespace, "agents").egress;
  const controlPlane = (): End => ({
    namespace: releaseNamespace,
    labels: objectOf(production, "Deployment", "control-plane").spec.template.metadata.labels,
  });

  test("reaches DNS, the control plane and its enforcement point's upstreams", () => {
    expect(admits(egress("agents"), "agents", dns, 53)).toBe(true);
    expect(admits(egress("agents"), "agents", controlPlane(), 8080)).toBe(true);
    expect(admits(egress("agents"), "agents", tools, 8443)).toBe(true);
  });

  test("reaches nothing else", () => {
    const injector = objectOf(production, "Deployment", "injector").spec.template.metadata.labels;
    for (const [end, port] of [
      [tools, 80],
      [{ namespace: "elsewhere" }, 8443],
      [{ ...controlPlane(), namespace: "elsewhere" }, 8080],
      [{ namespace: "agents", labels: { app: "another-agent" } }, 8080],
      [{ namespace: releaseNamespace, labels: injector }, 8443],
      [controlPlane(), 9000],
      [{ namespace: "kube-system", labels: { app: "other" } }, 53],
    ] as const) {
      expect([end, port, admits(egress("agents"), "agents", end, port)]).toEqual([end, port, false]);
    }
  });

  test("is selected with or without injection, unless a value gives a selector", () => {
    expect(policy(everything, "agents", "agents").podSelector).toEqual({});
    expect(policy(everything, "more-agents", "agents").podSelector).toEqual({ matchLabels: { role: "agent" } });
  });
});

describe("the control plane", () => {
  const ingress = () => policy(production, releaseNamespace, "control-plane").ingress;
  const from = (end: End) => admits(ingress(), releaseNamespace, end, "https");

  test("is reachable for agents, helm's test and the peers of the values", () => {
    const { labels = {} } = objectOf(production, "Pod", "ready").metadata;
    for (const end of [
      { namespace: "agents" },
      { namespace: "others", ofNamespace: { "pep.svc/inject": "enabled" } },
      { namespace: "others", labels: { "pep.svc/inject": "enabled" } },
      { namespace: "monitoring" },
      { namespace: releaseNamespace, labels },
    ]) {
      expect([end, from(end)]).toEqual([end, true]);
    }
  });

  test("is unreachable for others", () => {
    for (const end of [
      tools,
      { namespace: releaseNamespace },
      { namespace: "others", labels: { "pep.svc/inject": "disabled" } },
    ]) {
      expect([end, from(end)]).toEqual([end, false]);
    }
  });

  test("reaches DNS, its stores, and the destinations of the values", () => {
    const { egress } = policy(production, releaseNamespace, "control-plane");
    expect(admits(egress, releaseNamespace, dns, 53)).toBe(true);
    expect(admits(egress, releaseNamespace, tools, 443)).toBe(true);
    expect(admits(egress, releaseNamespace, tools, 8443)).toBe(false);
  });
});

test("the injector is reachable from any address, and reaches none", () => {
  const { ingress, egress, policyTypes } = policy(production, releaseNamespace, "injector");
  expect(ingress).toEqual([{ ports: [{ port: "https" }] }]);
  expect([egress, policyTypes]).toEqual([[], ["Ingress", "Egress"]]);
});
