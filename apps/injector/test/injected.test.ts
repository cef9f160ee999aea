import fc from "fast-check";
import { Pod as KubernetesPod } from "kubernetes-models/v1";
import { describe, expect, test } from "vitest";
import type { Container, Pod } from "../src/pod.ts";
import { finalReview, review } from "../src/review.ts";
import { aContainer, annotated, aPod, creation, injectionOf, patched } from "./pods.ts";

const injection = injectionOf();

const inject = (pod: Pod, given = injection): Pod => patched(pod, review(creation(pod), given, "may_be_weaker"));

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
    annotated({
      "pep.svc/mode": "observe",
      "pep.svc/config": "own-config",
      "pep.svc/session-secret": "observed-session",
      "pep.svc/agent-name": "planner",
      "pep.svc/agent-key-secret": "planner-key",
      "pep.svc/bind-cap-bytes": "1000",
      "pep.svc/proxy-env": "true",
      "pep.svc/redirect-ports": "80, 8080",
      "pep.svc/user-id": "20001",
      "pep.svc/group-id": "0",
      "pep.svc/cpu-limit": "0.5",
      "pep.svc/quit": "true",
      "pep.svc/enforcement-secret": "enforcement",
      "pep.svc/public-url": "http://127.0.0.1:16001",
      "kubectl.kubernetes.io/default-container": "agent",
    }),
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

  test("passes the last review, as the injector left it", () => {
    expect(finalReview(creation(withServiceAccount(inject(pod))), injection, "may_be_weaker")).toEqual({
      allowed: true,
    });
  });

  test("runs the enforcement point unprivileged", () => {
    expect(sidecar(inject(pod))?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      capabilities: { drop: ["ALL"] },
      readOnlyRootFilesystem: true,
      runAsGroup: pod.metadata.annotations?.["pep.svc/group-id"] === undefined ? 10_001 : 0,
      runAsNonRoot: true,
      runAsUser: pod.metadata.annotations?.["pep.svc/user-id"] === undefined ? 10_001 : 20_001,
      seccompProfile: { type: "RuntimeDefault" },
    });
  });
});

test("a plain pod gets a sidecar that starts before the agent and ends after it", () => {
  expect(inject(aPod())).toMatchSnapshot();
});

test.each([
  ["first", aPod({ initContainers: [{ name: "migrate" }] }), ["svc-pep", "migrate"]],
  ["after its redirect", annotated({ "pep.svc/redirect-ports": "80" }), ["svc-pep-redirect", "svc-pep"]],
  ["after a mesh's own, through which it speaks", aPod(istio), ["istio-init", "istio-proxy", "svc-pep", "fetch-model"]],
  ["after Linkerd's", aPod(linkerd), ["linkerd-init", "svc-pep"]],
  [
    "before what only follows with the name of a mesh",
    aPod({ initContainers: [{ name: "setup" }, { name: "istio-proxy" }] }),
    ["svc-pep", "setup", "istio-proxy"],
  ],
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

/** The lists of an injected pod, by the names of their containers. */
type Order = Partial<Record<"initContainers" | "containers", readonly string[]>>;

const ordered = (pod: Pod, order: Order): Pod => {
  const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const listed = (list: readonly string[]) =>
    list.map((name) => all.find((container) => container.name === name) ?? aContainer({ name }));
  const { initContainers = names(pod.spec.initContainers) ?? [], containers = names(pod.spec.containers) ?? [] } =
    order;
  return { ...pod, spec: { ...pod.spec, initContainers: listed(initContainers), containers: listed(containers) } };
};

const guarded = inject(aPod({ initContainers: [aContainer({ name: "migrate" })] }));
const guardedByRedirect = inject(annotated({ "pep.svc/redirect-ports": "80" }));
const guardedPlainly = inject(annotated({ "pep.svc/native-sidecar": "false" }));

test.each<readonly [string, Pod, Order]>([
  ["behind an init container of the agent", guarded, { initContainers: ["migrate", "svc-pep"] }],
  ["among the agent's containers", guarded, { initContainers: ["migrate"], containers: ["svc-pep", "agent"] }],
  ["behind the agent's containers", guarded, { initContainers: ["migrate"], containers: ["agent", "svc-pep"] }],
  ["twice", guarded, { initContainers: ["svc-pep", "migrate"], containers: ["agent", "svc-pep"] }],
  ["twice in its list", guarded, { initContainers: ["svc-pep", "svc-pep", "migrate"] }],
  ["before its redirect", guardedByRedirect, { initContainers: ["svc-pep", "svc-pep-redirect"] }],
  ["apart from its redirect", guardedByRedirect, { initContainers: ["svc-pep-redirect", "setup", "svc-pep"] }],
  ["without its redirect", guardedByRedirect, { initContainers: ["svc-pep"] }],
  ["without itself", guardedByRedirect, { initContainers: ["svc-pep-redirect"] }],
  [
    "its redirect behind an init container",
    guardedByRedirect,
    { initContainers: ["setup", "svc-pep-redirect", "svc-pep"] },
  ],
  ["as the first of the agent's containers", guardedPlainly, { containers: ["svc-pep", "agent"] }],
  ["before the agent, though plain", guardedPlainly, { initContainers: ["svc-pep"], containers: ["agent"] }],
])("a pod with the injector's exact containers in another place is refused: %s", (_name, pod, order) => {
  expect(review(creation(ordered(pod, order)), injection, "may_be_weaker")).toEqual({
    allowed: false,
    message: expect.stringContaining("or stands elsewhere"),
  });
});

test.each<readonly [string, Pod, Order]>([
  ["Istio's, which it puts first", guarded, { initContainers: ["istio-init", "istio-proxy", "svc-pep", "migrate"] }],
  ["Istio's, which it puts last", guarded, { initContainers: ["svc-pep", "migrate", "istio-init"] }],
  [
    "Linkerd's, which it appends",
    guardedPlainly,
    { initContainers: ["linkerd-init"], containers: ["agent", "svc-pep", "linkerd-proxy"] },
  ],
])("a pod to which a mesh added its containers after the injector is admitted unchanged: %s", (_name, pod, order) => {
  const meshed = ordered(pod, order);
  expect(inject(meshed)).toEqual(meshed);
});

describe("what the API server's own plug-ins add", () => {
  const changed = (pod: Pod, change: (container: Container) => Partial<Container>): Pod => {
    const copy = structuredClone(pod);
    const container = sidecar(copy);
    if (container) Object.assign(container, change(container));
    return copy;
  };
  const limited = inject(annotated({ "pep.svc/cpu-limit": "0.5", "pep.svc/memory-limit": "1024Mi" }));

  test.each<readonly [string, Pod, (container: Container) => Partial<Container>]>([
    [
      "a LimitRange's default where we leave one open",
      guarded,
      ({ resources }) => ({ resources: { ...resources, limits: { ...resources?.limits, cpu: "200m" } } }),
    ],
    [
      "quantities as it writes them",
      limited,
      ({ resources }) => ({ resources: { ...resources, limits: { cpu: "500m", memory: "1Gi" } } }),
    ],
    ["AlwaysPullImages", guarded, () => ({ imagePullPolicy: "Always" })],
  ])("%s is no difference", (_name, pod, change) => {
    expect(finalReview(creation(withServiceAccount(changed(pod, change))), injection, "strict")).toEqual({
      allowed: true,
    });
  });

  test.each<readonly [string, (container: Container) => Partial<Container>]>([
    ["another amount", ({ resources }) => ({ resources: { ...resources, limits: { cpu: "500m", memory: "2Gi" } } })],
    ["no limit", ({ resources }) => ({ resources: { requests: resources?.requests } })],
    ["claims", ({ resources }) => ({ resources: { ...resources, claims: [{ name: "gpu" }] } })],
    ["an image that is never pulled", () => ({ imagePullPolicy: "Never" })],
  ])("%s is a difference", (_name, change) => {
    expect(review(creation(changed(limited, change)), injection, "strict").allowed).toBe(false);
  });
});

/** OpenShift's `restricted-v2`, as it changes and judges a pod of a namespace with this range of users. */
function restrictedV2(pod: Pod, [first, size]: readonly [number, number]): { pod: Pod; refused: string[] } {
  const copy = structuredClone(pod);
  const containers = [...(copy.spec.initContainers ?? []), ...copy.spec.containers];
  copy.spec.securityContext = {
    seccompProfile: { type: "RuntimeDefault" },
    fsGroup: first,
    seLinuxOptions: { level: "s0:c26,c5" },
    ...copy.spec.securityContext,
  };
  for (const container of containers) {
    container.securityContext = {
      runAsUser: first,
      runAsNonRoot: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ["ALL"] },
      ...container.securityContext,
    };
  }
  const isOutside = (user: number | undefined) => user === undefined || user < first || user >= first + size;
  const refused = containers.filter(({ securityContext }) => isOutside(securityContext?.runAsUser));
  return { pod: copy, refused: refused.map(({ name }) => name) };
}

describe("on OpenShift, where each namespace has a range of users", () => {
  const range = [1_000_660_000, 10_000] as const;
  const bare = (annotations: Record<string, string>) =>
    restrictedV2(
      annotated(annotations, { securityContext: undefined, containers: [aContainer({ securityContext: undefined })] }),
      range,
    ).pod;

  test("a sidecar with a user of the range passes, and equals what was injected", () => {
    const injected = inject(bare({ "pep.svc/user-id": "1000660001", "pep.svc/group-id": "0" }));
    const { pod, refused } = restrictedV2(injected, range);
    expect(refused).toEqual([]);
    expect(finalReview(creation(withServiceAccount(pod)), injection, "strict")).toEqual({ allowed: true });
    expect(pod.spec).toMatchSnapshot();
  });

  test("a sidecar with the default user is refused by OpenShift", () => {
    expect(restrictedV2(inject(bare({})), range).refused).toEqual(["svc-pep"]);
  });

  test("a setting gives every sidecar a user of the range", () => {
    const given = injectionOf({ SVC_INJECTOR_PEP_USER_ID: "1000660001", SVC_INJECTOR_PEP_GROUP_ID: "0" });
    expect(restrictedV2(inject(bare({}), given), range).refused).toEqual([]);
  });
});

test("a redirect exempts the user of the sidecar", () => {
  const { initContainers = [] } = inject(
    annotated({ "pep.svc/redirect-ports": "80", "pep.svc/user-id": "20001" }),
  ).spec;
  expect(initContainers[0]?.args).toEqual([expect.stringMatching(/! --uid-owner 20001 [^\0]*! --uid-owner 20001 /)]);
});

test.each([
  [{ "pep.svc/cpu-limit": "0.5" }, { cpu: "0.5", memory: "256Mi" }],
  [{}, { memory: "256Mi" }],
])("the limits of %j are %j", (annotations: Record<string, string>, limits) => {
  expect(sidecar(inject(annotated(annotations)))?.resources?.limits).toEqual(limits);
});

test("an agent may end its sidecar only with pep.svc/quit", () => {
  expect(settingsOf(inject(aPod()))).not.toHaveProperty("SVC_PEP_QUIT");
  expect(settingsOf(inject(annotated({ "pep.svc/quit": "true" }))).SVC_PEP_QUIT).toBe("true");
});

test("a pod with only the status annotation is injected", () => {
  expect(sidecar(inject(annotated({ "pep.svc/status": "injected" })))).toBeDefined();
});
