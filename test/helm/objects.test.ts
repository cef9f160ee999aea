import { beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { drainTimes } from "../../apps/control-plane/src/start/config.ts";
import { containerOf, podSpecOf } from "./src/pods.ts";
import { type KubernetesObject, objectOf, releaseNamespace, render } from "./src/render.ts";
import { typeFaults, validate } from "./src/typed-objects.ts";
import { variants } from "./src/variants.ts";

const rendered = new Map<string, readonly KubernetesObject[]>();
beforeAll(async () => {
  for (const [name, variant] of Object.entries(variants)) rendered.set(name, await render(variant));
});

const nameOf = ({ kind, metadata }: KubernetesObject) => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;

test("no object of any variant has a field that Kubernetes or an operator does not know", async () => {
  expect(await typeFaults([...rendered.values()].flat())).toEqual([]);
});

describe.each(Object.keys(variants))("%s", (variant) => {
  const objects = () => rendered.get(variant) ?? [];
  const pods = () => objects().filter((object) => podSpecOf(object) !== undefined);

  test("every object is valid and unique", async () => {
    const names = objects().map(nameOf);
    expect(names.length).toBeGreaterThan(0);
    expect(new Set(names).size).toBe(names.length);
    const verdicts = await Promise.allSettled(objects().map(validate));
    expect(verdicts.map((verdict, at) => [names[at], "reason" in verdict ? String(verdict.reason) : "valid"])).toEqual(
      names.map((name) => [name, "valid"]),
    );
  });

  test("every object has a namespace and the standard labels", () => {
    for (const { kind, metadata } of objects()) {
      if (!kind.endsWith("WebhookConfiguration")) expect([metadata.name, metadata.namespace]).not.toContain(undefined);
      expect(metadata.labels).toMatchObject({ "app.kubernetes.io/instance": "authz" });
    }
  });

  test("no pod has privileges, an API token, or service links", () => {
    for (const pod of pods()) {
      expect(podSpecOf(pod)).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: {
          runAsNonRoot: true,
          ...(variant !== "OpenShift" && { runAsUser: 10_001, runAsGroup: 10_001, fsGroup: 10_001 }),
          seccompProfile: { type: "RuntimeDefault" },
        },
      });
      const { securityContext, resources, imagePullPolicy } = containerOf(pod);
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      expect(resources).toMatchObject({ requests: { cpu: expect.anything() }, limits: { memory: expect.anything() } });
      expect(imagePullPolicy).toBe(variant === "everything" ? "Always" : "IfNotPresent");
    }
  });

  test("every Secret is a file with group-only access, and none is in an environment", () => {
    for (const pod of pods()) {
      for (const { secret, projected } of podSpecOf(pod)?.volumes ?? []) {
        if (secret ?? projected) expect((secret ?? projected).defaultMode).toBe(0o440);
      }
      for (const { valueFrom } of containerOf(pod).env ?? []) expect(valueFrom).toBeUndefined();
      for (const { name, readOnly } of containerOf(pod).volumeMounts ?? []) {
        if (name !== "metrics") expect(readOnly).toBe(true);
      }
    }
  });

  test("every selector matches its own pods, and no others", () => {
    const labelled = pods().map(
      ({ kind, metadata, spec }) => (kind === "Pod" ? metadata : spec.template.metadata).labels,
    );
    const found = (selector: Record<string, string>) =>
      labelled.filter((labels) => Object.entries(selector).every(([name, value]) => labels[name] === value));
    for (const { kind, metadata, spec } of objects()) {
      if (metadata.namespace !== releaseNamespace || kind === "PodMonitor") continue;
      const selector = kind === "Service" ? spec.selector : (spec?.selector ?? spec?.podSelector)?.matchLabels;
      if (selector !== undefined) expect([metadata.name, found(selector).length]).toEqual([metadata.name, 1]);
    }
  });

  test("no role or binding is created", () => {
    expect(objects().filter(({ apiVersion }) => apiVersion.startsWith("rbac."))).toEqual([]);
  });
});

test.each(["defaults", "production", "everything"])("%s: a pod's grace period covers draining", (variant) => {
  const template = objectOf(rendered.get(variant) ?? [], "Deployment", "control-plane").spec.template.spec;
  const pauseSeconds = template.containers[0].lifecycle?.preStop.sleep.seconds ?? 0;
  const { noticeMs, deadlineMs, lastWordsMs } = drainTimes;
  const drainSeconds = (noticeMs + deadlineMs + lastWordsMs) / 1000;
  expect(pauseSeconds).toBe(variant === "everything" ? 0 : 5);
  expect(template.terminationGracePeriodSeconds).toBeGreaterThan(pauseSeconds + drainSeconds);
});

test("pods whose user the cluster chooses name neither user nor group", () => {
  const pods = (rendered.get("OpenShift") ?? []).map(podSpecOf).filter((spec) => spec !== undefined);
  expect(pods.map(({ securityContext }) => Object.keys(securityContext))).toEqual(
    pods.map(() => ["runAsNonRoot", "seccompProfile"]),
  );
});

test("a rollout keeps the number of pods, and a node drain removes one at a time", () => {
  const objects = rendered.get("production") ?? [];
  for (const name of ["control-plane", "injector"]) {
    expect(objectOf(objects, "Deployment", name).spec.strategy.rollingUpdate).toEqual({
      maxUnavailable: 0,
      maxSurge: 1,
    });
    expect(objectOf(objects, "PodDisruptionBudget", name).spec.maxUnavailable).toBe(1);
  }
});

test("a single pod has no disruption budget, so that its node can be drained", () => {
  for (const variant of ["staging", "as little as possible"]) {
    const budgets = (rendered.get(variant) ?? []).filter(({ kind }) => kind === "PodDisruptionBudget");
    expect(budgets.filter(({ metadata }) => metadata.name.endsWith("control-plane"))).toEqual([]);
  }
});

test("a Deployment with an autoscaler has no replica count, so that an upgrade does not reset it", () => {
  const replicas = (variant: string) =>
    objectOf(rendered.get(variant) ?? [], "Deployment", "control-plane").spec.replicas;
  expect([replicas("production"), replicas("staging")]).toEqual([undefined, 1]);
});

test("an image has registry, repository, and a digest or a tag", () => {
  const images = (variant: string) =>
    Object.fromEntries(
      (rendered.get(variant) ?? [])
        .filter(({ kind }) => kind === "Deployment")
        .map((object) => [containerOf(object).name, containerOf(object).image]),
    );
  expect(images("defaults")).toEqual({
    "control-plane": "agent-authorization-service/control-plane:0.1.0",
    injector: "agent-authorization-service/injector:0.1.0",
  });
  expect(images("everything")).toEqual({
    "control-plane": `registry.example:5000/agent-authorization-service/control-plane@sha256:${"a".repeat(64)}`,
    injector: "registry.example:5000/agent-authorization-service/injector:1.2.3",
  });
});

/* Summaries for reviewers of a change: `vitest run --project helm objects -u` rewrites them. */
describe("golden", () => {
  test("the objects of each variant", async () => {
    const made = [...rendered].map(([variant, objects]) => [variant, objects.map(nameOf).sort()]);
    await expect(stringify(Object.fromEntries(made))).toMatchFileSnapshot("golden/objects.yaml");
  });

  test("the control plane of production", async () => {
    const { spec } = objectOf(rendered.get("production") ?? [], "Deployment", "control-plane");
    await expect(stringify(spec)).toMatchFileSnapshot("golden/control-plane.yaml");
  });
});
