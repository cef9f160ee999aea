import { describe, expect, test } from "vitest";
import type { Container, Pod } from "../src/pod.ts";
import { finalReview, review } from "../src/review.ts";
import { aContainer, annotated, aPod, creation, injectionOf, patched, restricted, update } from "./pods.ts";

const injection = injectionOf();
const injected = (pod: Pod) => patched(pod, review(creation(pod), injection, "strict"));
const running = injected(aPod({}, { labels: { "pep.svc/inject": "enabled" } }));
const redirected = injected(annotated({ "pep.svc/redirect-ports": "80" }));

const withImage = (pod: Pod, name: string): Pod => {
  const changed = structuredClone(pod);
  for (const container of [...(changed.spec.initContainers ?? []), ...changed.spec.containers])
    if (container.name === name) Object.assign(container, { image: "registry.example/other:1" });
  return changed;
};
/** As `kubectl patch --subresource resize` does. */
const resized = (pod: Pod, name: string): Pod => {
  const changed = structuredClone(pod);
  for (const container of [...(changed.spec.initContainers ?? []), ...changed.spec.containers])
    if (container.name === name) Object.assign(container, { resources: { limits: { cpu: "1m", memory: "16Mi" } } });
  return changed;
};
const debugged = (pod: Pod, more: Partial<Container> = {}): Pod => ({
  ...pod,
  spec: { ...pod.spec, ephemeralContainers: [aContainer({ name: "debugger", ...more })] },
});
const labelled = (pod: Pod, labels: Record<string, string>): Pod => ({ ...pod, metadata: { ...pod.metadata, labels } });

describe("a change to a running pod is refused in any namespace", () => {
  test.each<readonly [string, Pod, Pod, RegExp]>([
    ["another image of the enforcement point", running, withImage(running, "svc-pep"), /delete the pod/],
    ["another image of the redirect", redirected, withImage(redirected, "svc-pep-redirect"), /delete the pod/],
    ["fewer resources for the enforcement point", running, resized(running, "svc-pep"), /svc-pep of a running pod/],
    ["the label that selects it for review", running, labelled(running, {}), /label pep\.svc\/inject/],
    ["a label that declines", running, labelled(running, { "pep.svc/inject": "disabled" }), /label pep\.svc\/inject/],
    [
      "a debug container among our processes",
      running,
      debugged(running, { targetContainerName: "svc-pep" }),
      /debugger may not share the processes of svc-pep/,
    ],
    [
      "a debug container that mounts our secrets",
      running,
      debugged(running, { volumeMounts: [{ name: "svc-pep-secret", mountPath: "/s" }] }),
      /debugger mounts svc-pep-secret/,
    ],
    [
      "a debug container that reads our Secret",
      running,
      debugged(running, { envFrom: [{ secretRef: { name: "svc-pep" } }] }),
      /debugger reads Secret svc-pep/,
    ],
    [
      "a debug container that may undo a redirect",
      redirected,
      debugged(redirected, { securityContext: { capabilities: { add: ["NET_ADMIN"] } } }),
      /debugger may add no capability but NET_BIND_SERVICE/,
    ],
    [
      "a debug container that is not redirected",
      redirected,
      debugged(redirected, { securityContext: { ...restricted, runAsUser: 10_001 } }),
      /debugger runs as user 10001/,
    ],
  ])("%s", (_name, old, changed, message) => {
    for (const strictness of ["strict", "may_be_weaker"] as const) {
      for (const by of [review, finalReview])
        expect(by(update(old, changed), injection, strictness)).toEqual({
          allowed: false,
          message: expect.stringMatching(message),
        });
    }
  });
});

test("a debug container below the restricted standard is refused where enforcement is strict, and warned about elsewhere", () => {
  const request = update(running, debugged(running, { securityContext: { capabilities: { add: ["SYS_PTRACE"] } } }));
  expect(finalReview(request, injection, "strict").message).toContain(
    "debugger may add no capability but NET_BIND_SERVICE",
  );
  expect(finalReview(request, injection, "may_be_weaker")).toEqual({
    allowed: true,
    warnings: [expect.stringContaining("svc-pep: not restricted: container debugger")],
  });
});

test.each<readonly [string, Pod, Pod]>([
  ["another image of the agent", running, withImage(running, "agent")],
  ["other resources of the agent", running, resized(running, "agent")],
  ["another label", running, labelled(running, { ...running.metadata.labels, team: "payments" })],
  ["a restricted debug container", running, debugged(running)],
  ["one that was there", debugged(running, { securityContext: {} }), debugged(running, { securityContext: {} })],
  ["anything, where nothing was injected", aPod(), debugged(withImage(aPod(), "agent"), { securityContext: {} })],
])("%s is admitted", (_name, old, changed) => {
  expect(finalReview(update(old, changed), injection, "strict")).toEqual({ allowed: true });
});

test("a pod whose sidecar has an earlier image may be changed", () => {
  const newer = injectionOf({ SVC_INJECTOR_PEP_IMAGE: "registry.example/svc-pep:2.0.0" });
  expect(finalReview(update(running, withImage(running, "agent")), newer, "strict")).toEqual({ allowed: true });
});

const crowded = (count: number, securityContext: Container["securityContext"]): Pod => {
  const ephemeralContainers = Array.from({ length: count }, (_, n) => aContainer({ name: `d${n}`, securityContext }));
  return { ...running, spec: { ...running.spec, ephemeralContainers } };
};

test("thousands of debug containers are compared by name", () => {
  const request = update(crowded(10_000, restricted), crowded(20_000, restricted));
  expect(finalReview(request, injection, "strict")).toEqual({ allowed: true });
});

test("a refusal for thousands of reasons names twenty, and first how to be admitted", () => {
  const { message = "" } = finalReview(update(running, crowded(5_000, {})), injection, "strict");
  expect(message).toMatch(/^agent authorization: the restricted pod security standard .*; and \d+ more$/);
  expect(message.split("; ")).toHaveLength(21);
});

test("an update without the old pod is refused", () => {
  expect(review({ ...update(running, running), oldObject: null }, injection, "strict").allowed).toBe(false);
});

describe("the last review of a creation", () => {
  test("passes the pod that the injector made, without repeating its warnings", () => {
    const pod = injected(
      annotated({ "pep.svc/native-sidecar": "false", "pep.svc/quit": "true" }, { restartPolicy: "Never" }),
    );
    expect(finalReview(creation(pod), injection, "strict")).toEqual({ allowed: true });
  });

  test.each<readonly [string, Pod]>([
    ["was never injected", aPod()],
    [
      "got a container without the proxy after it",
      {
        ...running,
        metadata: {
          ...running.metadata,
          annotations: { ...running.metadata.annotations, "pep.svc/proxy-env": "true" },
        },
      },
    ],
  ])("refuses a pod that %s", (_name, pod) => {
    expect(finalReview(creation(pod), injection, "strict")).toEqual({
      allowed: false,
      message: expect.stringContaining("another admission webhook changed the pod"),
    });
  });
});
