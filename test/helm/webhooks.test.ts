import { type CelInput, run } from "@bufbuild/cel";
import { beforeAll, describe, expect, test } from "vitest";
import { injectLabel, weakerLabel } from "../../apps/injector/src/pod-request.ts";
import { webhooks as pathsOfTheInjector } from "../../apps/injector/src/review.ts";
import { objectOf, render } from "./src/render.ts";
import { type LabelSelector, type Labels, selects } from "./src/selects.ts";

interface Webhook {
  readonly name: string;
  readonly clientConfig: { readonly service: { readonly path: string; readonly name: string; readonly port: number } };
  readonly namespaceSelector: LabelSelector;
  readonly objectSelector?: LabelSelector;
  readonly failurePolicy: string;
  readonly matchConditions?: readonly { readonly expression: string }[];
  readonly timeoutSeconds: number;
  readonly sideEffects: string;
  readonly reinvocationPolicy?: string;
}

let mutating: readonly Webhook[];
let validating: readonly Webhook[];
beforeAll(async () => {
  const objects = await render({ values: { injector: { excludedNamespaces: ["cert-manager"] } } });
  mutating = objectOf(objects, "MutatingWebhookConfiguration").webhooks;
  validating = objectOf(objects, "ValidatingWebhookConfiguration").webhooks;
});

/** The webhook paths that the API server calls for a pod with these labels in a namespace with those. */
const calledPaths = (namespace: string, ofNamespace: Labels, ofPod: Labels = {}) =>
  [...mutating, ...validating]
    .filter(({ namespaceSelector, objectSelector = {} }) => {
      const labels = { "kubernetes.io/metadata.name": namespace, ...ofNamespace };
      return selects(namespaceSelector, labels) && selects(objectSelector, ofPod);
    })
    .map(({ clientConfig }) => clientConfig.service.path);

const enabled = { [injectLabel]: "enabled" };
const disabled = { [injectLabel]: "disabled" };
const weaker = { [weakerLabel]: "true" };

test.each([
  ["an unlabelled pod in an enabled namespace", enabled, {}, "/mutate"],
  ["an enabled pod in an unlabelled namespace", {}, enabled, "/mutate"],
  ["an enabled pod in a disabled namespace", disabled, enabled, "/mutate"],
  ["an enabled pod in an enabled namespace", enabled, enabled, "/mutate"],
  ["a disabled pod in an enabled namespace (to be refused)", enabled, disabled, "/mutate"],
  ["a misspelt label in an enabled namespace (to be refused)", enabled, { [injectLabel]: "yes" }, "/mutate"],
  [
    "an unlabelled pod in an enabled namespace that allows weaker injection",
    { ...enabled, ...weaker },
    {},
    "/mutate-weaker",
  ],
  ["an enabled pod in a namespace that allows weaker injection", weaker, enabled, "/mutate-weaker"],
  [
    "a disabled pod in an enabled namespace that allows weaker injection",
    { ...enabled, ...weaker },
    disabled,
    "/mutate-weaker",
  ],
  ["a namespace with a misspelt value for weaker injection", { ...enabled, [weakerLabel]: "True" }, {}, "/mutate"],
])("%s is reviewed once before and once after all other webhooks", (_name, ofNamespace, ofPod, path) => {
  expect(calledPaths("agents", ofNamespace as Labels, ofPod as Labels)).toEqual([
    path,
    path.replace("mutate", "validate"),
  ]);
});

test.each([
  ["an unlabelled pod", {}, {}],
  ["an unlabelled pod in a namespace that allows weaker injection", weaker, {}],
  ["a disabled pod in an unlabelled namespace", {}, disabled],
])("no webhook is called for %s", (_name, ofNamespace, ofPod) => {
  expect(calledPaths("agents", ofNamespace as Labels, ofPod as Labels)).toEqual([]);
});

test.each(["svc-system", "kube-system", "kube-public", "kube-node-lease", "cert-manager"])(
  "pods of %s start without the injector, with any labels",
  (namespace) => {
    for (const ofNamespace of [enabled, { ...enabled, ...weaker }])
      expect(calledPaths(namespace, ofNamespace, enabled)).toEqual([]);
  },
);

describe("every webhook", () => {
  test("calls a path that the injector serves, at its Service", async () => {
    const objects = await render();
    const service = objectOf(objects, "Service", "injector");
    const webhooks = [...mutating, ...validating];
    for (const { clientConfig } of webhooks) {
      expect([...pathsOfTheInjector.keys()]).toContain(clientConfig.service.path);
      expect(clientConfig.service).toMatchObject({ name: service.metadata.name, port: service.spec.ports[0].port });
    }
    expect(new Set(webhooks.map(({ clientConfig }) => clientConfig.service.path)).size).toBe(pathsOfTheInjector.size);
  });

  const always = { failurePolicy: "Fail", timeoutSeconds: 5, sideEffects: "None", matchPolicy: "Equivalent" };
  const core = { apiGroups: [""], apiVersions: ["v1"], scope: "Namespaced" };

  test("that changes pods refuses the pod after a short timeout, and is called again after other webhooks", () => {
    for (const webhook of mutating) {
      expect(webhook).toMatchObject({
        ...always,
        reinvocationPolicy: "IfNeeded",
        rules: [{ ...core, operations: ["CREATE"], resources: ["pods"] }],
      });
    }
  });

  test("that validates pods is called for each change too, for debug containers and for a resize", () => {
    const resources = ["pods", "pods/ephemeralcontainers", "pods/resize"];
    for (const webhook of validating) {
      expect(webhook).toMatchObject({
        ...always,
        rules: [{ ...core, operations: ["CREATE", "UPDATE"], resources }],
      });
      expect(webhook).not.toHaveProperty("reinvocationPolicy");
    }
  });

  const pod = { metadata: { labels: { [injectLabel]: "enabled" } }, spec: { containers: [{ name: "a", image: "1" }] } };
  const bare = { metadata: {}, spec: pod.spec };

  test.each<readonly [string, string, CelInput, CelInput, boolean]>([
    ["a creation", "CREATE", null, pod, true],
    ["another image", "UPDATE", pod, { ...pod, spec: { containers: [{ name: "a", image: "2" }] } }, true],
    ["a debug container", "UPDATE", pod, { ...pod, spec: { ...pod.spec, ephemeralContainers: [{ name: "b" }] } }, true],
    [
      "other resources",
      "UPDATE",
      pod,
      { ...pod, spec: { containers: [{ name: "a", image: "1", resources: {} }] } },
      true,
    ],
    ["another label", "UPDATE", pod, { ...pod, metadata: { labels: { [injectLabel]: "disabled" } } }, true],
    ["the last label removed", "UPDATE", pod, bare, true],
    ["the first label", "UPDATE", bare, pod, true],
    ["another annotation", "UPDATE", pod, { ...pod, metadata: { ...pod.metadata, annotations: { a: "b" } } }, false],
    ["a finalizer, where no label is", "UPDATE", bare, { ...bare, metadata: { finalizers: ["f"] } }, false],
    ["a status", "UPDATE", pod, { ...pod, status: { phase: "Running" } }, false],
  ])("that validates pods matches %s: %s", (_name, operation, oldObject, object, isMatched) => {
    for (const { matchConditions = [] } of validating) {
      expect(matchConditions).toHaveLength(1);
      for (const { expression } of matchConditions)
        expect(run(expression, { request: { operation }, object, oldObject })).toBe(isMatched);
    }
  });

  test("has a qualified name of its own", () => {
    for (const webhooks of [mutating, validating]) {
      const found = webhooks.map(({ name }) => name);
      expect(new Set(found).size).toBe(found.length);
      for (const name of found) expect(name.split(".").length).toBeGreaterThanOrEqual(3);
    }
  });
});
