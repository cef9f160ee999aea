import fc from "fast-check";
import { Pod as KubernetesPod } from "kubernetes-models/v1";
import { applyPatch, type Operation } from "rfc6902";
import { describe, expect, test } from "vitest";
import type { Container, Pod } from "../src/pod.ts";
import { review } from "../src/review.ts";
import { annotated, aPod, creation, injectionOf } from "./pods.ts";

const injection = injectionOf();
/** What a container must say of itself to be redirected. */
const confined = { securityContext: { runAsUser: 1000, capabilities: { drop: ["ALL"] } } };
const confinedAgent = { containers: [{ name: "agent", image: "registry.example/agent:7", ...confined }] };

function inject(pod: Pod, given = injection): Pod {
  const { allowed, message, patch } = review(creation(pod), given, "may_be_weaker");
  expect(message).toBeUndefined();
  expect(allowed).toBe(true);
  const injected = structuredClone(pod);
  for (const fault of applyPatch(injected, structuredClone(patch ?? []) as Operation[])) expect(fault).toBeNull();
  return injected;
}

/** What the API server adds once our containers are there: the pod's service account, in every container. */
function withServiceAccount(pod: Pod): Pod {
  const mount = {
    name: "kube-api-access-x7f2p",
    mountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
    readOnly: true,
  };
  const mounted = (container: Container) => ({
    ...container,
    volumeMounts: [...(container.volumeMounts ?? []), mount],
  });
  const { initContainers, containers, volumes = [], ...rest } = pod.spec;
  return {
    ...pod,
    spec: {
      ...rest,
      ...(initContainers && { initContainers: initContainers.map(mounted) }),
      containers: containers.map(mounted),
      volumes: [...volumes, { name: mount.name, projected: { sources: [] } }],
    },
  };
}

const names = (containers: readonly Container[] | undefined) => containers?.map(({ name }) => name);
const sidecar = (pod: Pod) =>
  [...(pod.spec.initContainers ?? []), ...pod.spec.containers].find(({ name }) => name === "svc-pep");
const settingsOf = (pod: Pod) =>
  Object.fromEntries((sidecar(pod)?.env ?? []).map(({ name, value }) => [name, value])) as Record<string, string>;

const istio = {
  initContainers: [
    { name: "istio-init", image: "istio/proxyv2" },
    { name: "istio-proxy", image: "istio/proxyv2", restartPolicy: "Always" },
    { name: "fetch-model", image: "registry.example/fetch" },
  ],
};
const linkerd = {
  initContainers: [{ name: "linkerd-init", image: "linkerd/init" }],
  containers: [
    { name: "linkerd-proxy", image: "linkerd/proxy" },
    { name: "agent", image: "registry.example/agent:7" },
  ],
};

const pods: readonly (readonly [string, Pod])[] = [
  ["a plain pod", aPod()],
  [
    "a pod with everything",
    annotated(
      {
        "pep.svc/mode": "observe",
        "pep.svc/config": "own-config",
        "pep.svc/session-secret": "observed-session",
        "pep.svc/agent-name": "planner",
        "pep.svc/agent-key-secret": "planner-key",
        "pep.svc/bind-cap-bytes": "1000",
        "pep.svc/proxy-env": "true",
        "pep.svc/redirect-ports": "80, 8080",
        "kubectl.kubernetes.io/default-container": "agent",
      },
      confinedAgent,
    ),
  ],
  ["a pod for an older cluster", annotated({ "pep.svc/native-sidecar": "false" })],
  ["a pod in Istio's mesh", aPod(istio)],
  ["a pod in Linkerd's mesh", aPod(linkerd)],
  [
    "a pod with volumes and init containers",
    aPod({ volumes: [{ name: "data", emptyDir: {} }], initContainers: [{ name: "migrate", image: "m" }] }),
  ],
];

describe.each(pods)("%s", (_name, pod) => {
  test("is a valid pod afterwards", () => {
    expect(() => new KubernetesPod(inject(pod) as never).validate()).not.toThrow();
  });

  test("is injected once: a second review of the API server's pod changes nothing", () => {
    const injected = withServiceAccount(inject(pod));
    expect(inject(injected)).toEqual(injected);
  });

  test("keeps all its own fields", () => {
    const injected = inject(pod);
    const kept = <T extends { name: string }>(list: readonly T[] | undefined) =>
      list?.filter(({ name }) => !name.startsWith("svc-pep"));
    expect(kept(injected.spec.initContainers) ?? []).toEqual(pod.spec.initContainers ?? []);
    expect(names(kept(injected.spec.containers))).toEqual(names(pod.spec.containers));
    expect(kept(injected.spec.volumes)).toEqual(pod.spec.volumes ?? []);
    expect(injected.metadata.annotations).toMatchObject(pod.metadata.annotations ?? {});
  });

  test("runs the enforcement point unprivileged", () => {
    expect(sidecar(inject(pod))?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      capabilities: { drop: ["ALL"] },
      readOnlyRootFilesystem: true,
      runAsGroup: 10_001,
      runAsNonRoot: true,
      runAsUser: 10_001,
      seccompProfile: { type: "RuntimeDefault" },
    });
  });
});

test("a plain pod gets a sidecar that starts before the agent and ends after it", () => {
  expect(inject(aPod())).toMatchSnapshot();
});

test.each([
  ["first", aPod({ initContainers: [{ name: "migrate" }] }), ["svc-pep", "migrate"]],
  ["after its redirect", annotated({ "pep.svc/redirect-ports": "80" }, confinedAgent), ["svc-pep-redirect", "svc-pep"]],
  ["after a mesh's own, through which it speaks", aPod(istio), ["istio-init", "istio-proxy", "svc-pep", "fetch-model"]],
  ["after Linkerd's", aPod(linkerd), ["linkerd-init", "svc-pep"]],
])("starts %s", (_name, pod, order) => {
  expect(names(inject(pod).spec.initContainers)).toEqual(order);
});

test("as a plain container it is the last one, and kubectl still uses the agent", () => {
  const injected = inject(annotated({ "pep.svc/native-sidecar": "false" }));
  expect(names(injected.spec.containers)).toEqual(["agent", "svc-pep"]);
  expect(sidecar(injected)).not.toHaveProperty("restartPolicy");
  expect(injected.metadata.annotations?.["kubectl.kubernetes.io/default-container"]).toBe("agent");
});

test("a default container that was chosen stays", () => {
  const chosen = { "kubectl.kubernetes.io/default-container": "second" };
  const injected = inject(annotated(chosen, { containers: [{ name: "first" }, { name: "second" }] }));
  expect(injected.metadata.annotations).toMatchObject(chosen);
});

test("annotations override the injector's settings, which override the defaults", () => {
  const given = injectionOf({ SVC_INJECTOR_PEP_MODE: "observe", SVC_INJECTOR_PEP_GRACE_SECONDS: "40" });
  const settings = settingsOf(inject(annotated({ "pep.svc/mode": "enforce", "pep.svc/log-level": "debug" }), given));
  expect(settings).toMatchObject({ SVC_PEP_MODE: "enforce", SVC_PEP_GRACE_SECONDS: "40", SVC_LOG_LEVEL: "debug" });
});

test.each([
  ["a native sidecar, told when its agent has ended, serves on for two seconds", {}, "2"],
  [
    "a plain one, told together with its agent, for the enforcement point's own grace",
    { "pep.svc/native-sidecar": "false" },
    undefined,
  ],
  ["either for what the pod says", { "pep.svc/grace-seconds": "0" }, "0"],
])("%s", (_name, annotations: Record<string, string>, grace) => {
  expect(settingsOf(inject(annotated(annotations))).SVC_PEP_GRACE_SECONDS).toBe(grace);
});

test("HTTP_PROXY is set for the agent's containers alone", () => {
  const injected = inject(annotated({ "pep.svc/proxy-env": "true", "pep.svc/native-sidecar": "false" }));
  const [agent, pep] = injected.spec.containers;
  expect(agent?.env).toEqual(["HTTP_PROXY", "http_proxy"].map((name) => ({ name, value: "http://127.0.0.1:16001" })));
  expect(names(pep?.env as never)).not.toContain("HTTP_PROXY");
});

test("the Secret's authority is used only for an HTTPS control plane", () => {
  expect(settingsOf(inject(aPod())).SVC_CONTROL_PLANE_CA_FILE).toBe("/etc/svc-pep/secret/ca.crt");
  const plain = injectionOf({ SVC_CONTROL_PLANE_URL: "http://control-plane:8080" });
  expect(settingsOf(inject(aPod(), plain))).not.toHaveProperty("SVC_CONTROL_PLANE_CA_FILE");
});

test("a pod whose svc-pep container differs in any field is refused", () => {
  const injected = withServiceAccount(inject(aPod()));
  const change = fc.constantFrom<(container: Container) => Partial<Container>>(
    () => ({ image: "registry.example/other" }),
    () => ({ securityContext: {} }),
    () => ({ command: ["/bin/true"] }),
    () => ({ restartPolicy: "Never" }),
    ({ env = [] }) => ({ env: env.map(({ name }) => ({ name, value: "observe" })) }),
    () => ({ envFrom: [{ secretRef: { name: "mine" } }] }),
    ({ volumeMounts = [] }) => ({
      volumeMounts: [...volumeMounts, { name: "mine", mountPath: "/etc/svc-pep/config" }],
    }),
    () => ({ lifecycle: { postStart: { exec: { command: ["sh"] } } } }),
  );
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
      const forged = structuredClone(injected);
      const container = sidecar(forged);
      for (const changed of changes) Object.assign(container ?? {}, container && changed(container));
      expect(review(creation(forged), injection, "strict")).toMatchObject({ allowed: false });
    }),
  );
});

test("a pod with only the status annotation is injected", () => {
  expect(sidecar(inject(annotated({ "pep.svc/status": "injected" })))).toBeDefined();
});
