import { expect, test } from "vitest";
import type { Container, Pod } from "../src/pod.ts";
import { review } from "../src/review.ts";
import { aContainer, annotated, aPod, creation, injectionOf, restricted, restrictedPod } from "./pods.ts";

const injection = injectionOf();
const redirected = { "pep.svc/redirect-ports": "80" };
const proxied = { "pep.svc/proxy-env": "true" };
const plain = { "pep.svc/native-sidecar": "false" };
const agent = (more: Partial<Container>) => ({ containers: [aContainer(more)] });
const env = (name: string, value: string) => agent({ env: [{ name, value }] });
const onNodes = (key: string, operator: string, ...values: string[]) => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values }] }],
      },
    },
  },
});
const secretVolume = (name: string) => ({ volumes: [{ name: "mine", secret: { secretName: name } }] });
const withKey = { "pep.svc/agent-name": "planner", "pep.svc/agent-key-secret": "planner-key" };

const unsafe: readonly (readonly [string, Pod, RegExp])[] = [
  ["mounts our Secret under a name of its own", aPod(secretVolume("svc-pep")), /volume mine holds Secret svc-pep/],
  ["mounts the agent's key", annotated(withKey, secretVolume("planner-key")), /volume mine holds Secret planner-key/],
  [
    "mounts the lent session",
    annotated({ "pep.svc/session-secret": "lent" }, secretVolume("lent")),
    /volume mine holds Secret lent/,
  ],
  [
    "mounts the bearer of the enforcement plane",
    annotated({ "pep.svc/enforcement-secret": "plane" }, secretVolume("plane")),
    /volume mine holds Secret plane/,
  ],
  [
    "lets clients log in whose access tokens it cannot redeem",
    annotated({ "pep.svc/public-url": "http://127.0.0.1:16001" }),
    /pep\.svc\/public-url needs pep\.svc\/enforcement-secret/,
  ],
  [
    "names no address for its clients",
    annotated({ "pep.svc/public-url": "here", "pep.svc/enforcement-secret": "plane" }),
    /pep\.svc\/public-url/,
  ],
  [
    "projects our Secret among others",
    aPod({ volumes: [{ name: "mine", projected: { sources: [{ configMap: {} }, { secret: { name: "svc-pep" } }] } }] }),
    /volume mine holds Secret svc-pep/,
  ],
  [
    "reads our Secret into a variable",
    aPod(agent({ env: [{ name: "K", valueFrom: { secretKeyRef: { name: "svc-pep", key: "telemetry-key" } } }] })),
    /container agent reads Secret svc-pep/,
  ],
  [
    "reads all of our Secret into variables",
    aPod({ initContainers: [{ name: "setup", envFrom: [{ secretRef: { name: "svc-pep" } }] }] }),
    /container setup reads Secret svc-pep/,
  ],
  [
    "names our Secret for a driver to read",
    aPod({ volumes: [{ name: "mine", csi: { driver: "d", nodePublishSecretRef: { name: "svc-pep" } } }] }),
    /volume mine holds Secret svc-pep/,
  ],
  [
    "mounts our Secret as that of a file share",
    aPod({ volumes: [{ name: "mine", azureFile: { secretName: "svc-pep", shareName: "s" } }] }),
    /volume mine holds Secret svc-pep/,
  ],
  [
    "reads a variable out of a volume of ours",
    aPod(
      agent({
        env: [{ name: "K", valueFrom: { fileKeyRef: { volumeName: "svc-pep-state", path: "p", key: "k" } } }],
      }),
    ),
    /container agent mounts svc-pep-state/,
  ],
  [
    "is redirected and may take the rights of a set-user-ID file",
    annotated(redirected, agent({ securityContext: { capabilities: { drop: ["ALL"] } } })),
    /container agent must set allowPrivilegeEscalation: false/,
  ],
  [
    "is redirected and drops nothing but SETUID",
    annotated(redirected, agent({ securityContext: { ...restricted, capabilities: { drop: ["SETUID"] } } })),
    /container agent must drop ALL capabilities/,
  ],
  [
    "is redirected and may send raw packets",
    annotated(
      redirected,
      agent({ securityContext: { ...restricted, capabilities: { drop: ["ALL"], add: ["NET_RAW"] } } }),
    ),
    /container agent may add no capability but NET_BIND_SERVICE, not NET_RAW/,
  ],
  [
    "is redirected and does not say as whom it runs",
    annotated(redirected, { securityContext: { ...restrictedPod, runAsUser: undefined } }),
    /container agent does not set runAsUser/,
  ],
  ["shares the node's network", aPod({ hostNetwork: true }), /hostNetwork.*take it out/],
  ["shares its processes", aPod({ shareProcessNamespace: true }), /shareProcessNamespace.*take it out/],
  ["shares the node's processes", aPod({ hostPID: true }), /hostPID.*take it out/],
  ["runs on Windows", aPod({ os: { name: "windows" } }), /Linux/],
  ["is bound to Windows nodes", aPod(onNodes("kubernetes.io/os", "In", "windows")), /Linux/],
  ["may land on a Windows node", aPod(onNodes("kubernetes.io/os", "In", "linux", "windows")), /Linux/],
  ["avoids Linux nodes", aPod(onNodes("beta.kubernetes.io/os", "NotIn", "linux")), /Linux/],
  ["has options of Windows", aPod({ securityContext: { windowsOptions: { runAsUserName: "u" } } }), /Linux/],
  ["is sent to a Windows node", aPod({ nodeSelector: { "kubernetes.io/os": "windows" } }), /Linux/],
  ["listens on the agent's port of ours", aPod(agent({ ports: [{ containerPort: 16_001 }] })), /agent uses port 16001/],
  ["listens on our admin port", aPod(agent({ ports: [{ containerPort: 16_020 }] })), /agent uses port 16020/],
  [
    "mounts our state",
    aPod(agent({ volumeMounts: [{ name: "svc-pep-state", mountPath: "/s" }] })),
    /agent mounts svc-pep-state/,
  ],
  ["has a container with a name of ours", aPod({ containers: [{ name: "svc-pep-helper" }] }), /rename it/],
  [
    "brings a sidecar of its own",
    aPod({ containers: [{ name: "agent" }, { name: "svc-pep", image: "mine" }] }),
    /the injector adds them/,
  ],
  [
    "brings a volume with a name of ours",
    aPod({ volumes: [{ name: "svc-pep-config", emptyDir: {} }] }),
    /the injector adds them/,
  ],
  [
    "runs as the user that is not redirected",
    annotated(redirected, agent({ securityContext: { ...restricted, runAsUser: 10_001 } })),
    /runs as user 10001/,
  ],
  [
    "does so by the pod's setting, and by the annotation",
    annotated({ ...redirected, "pep.svc/user-id": "1000" }),
    /container agent runs as user 1000/,
  ],
  [
    "is privileged and redirected",
    annotated(redirected, agent({ securityContext: { ...restricted, privileged: true } })),
    /container agent must not be privileged.*redirect/,
  ],
  [
    "is redirected by a mesh already",
    annotated(redirected, { initContainers: [{ name: "istio-init" }] }),
    /istio-init.*proxy-env/,
  ],
  ["has a proxy of its own", annotated(proxied, env("HTTP_PROXY", "http://squid")), /sets HTTP_PROXY itself/],
  ["has a proxy for all else", annotated(proxied, env("all_proxy", "socks5://p")), /sets all_proxy to another proxy/],
  [
    "calls every host without the proxy",
    annotated(proxied, env("NO_PROXY", "*")),
    /sets NO_PROXY so that calls to every/,
  ],
  ["does so among others", annotated(proxied, env("no_proxy", "localhost, *")), /sets no_proxy so that calls to every/],
  ["calls every address without it", annotated(proxied, env("NO_PROXY", "0.0.0.0/0")), /sets NO_PROXY so that calls/],
  [
    "takes that from elsewhere",
    annotated(proxied, agent({ env: [{ name: "NO_PROXY", valueFrom: { configMapKeyRef: { name: "c", key: "k" } } }] })),
    /sets NO_PROXY so that calls to every host/,
  ],
  ...["Never", "OnFailure"].map(
    (restartPolicy) =>
      [
        `completes beside a plain sidecar (${restartPolicy})`,
        annotated(plain, { restartPolicy }),
        /never completes.*pep\.svc\/quit: "true".*POST http:\/\/127\.0\.0\.1:16001\/__svc\/quit/,
      ] as const,
  ),
  [
    "limits memory below the request",
    annotated({ "pep.svc/memory-limit": "64Mi" }),
    /memory-limit \(64Mi\) is below .*memory-request \(128Mi\)/,
  ],
  [
    "limits CPUs below the request",
    annotated({ "pep.svc/cpu-limit": "0.1", "pep.svc/cpu-request": "200m" }),
    /cpu-limit \(0\.1\) is below .*cpu-request \(200m\)/,
  ],
  ["asks for thousandths of a byte", annotated({ "pep.svc/memory-limit": "512m" }), /must be a quantity of bytes/],
  ["asks for a unit that is none", annotated({ "pep.svc/memory-limit": "512K" }), /must be a quantity of bytes/],
  ["runs the sidecar as root", annotated({ "pep.svc/user-id": "0" }), /user-id must be a whole number from 1/],
  [
    "asks for an unknown option",
    annotated({ "pep.svc/mdoe": "observe" }),
    /pep\.svc\/mdoe is unknown; the known ones are .*pep\.svc\/mode/,
  ],
  ["asks for an unknown mode", annotated({ "pep.svc/mode": "off" }), /pep\.svc\/mode must be one of enforce, observe/],
  ["asks for no port", annotated({ "pep.svc/redirect-ports": "http" }), /redirect-ports must be 1-15 ports/],
  ["names an agent without its key", annotated({ "pep.svc/agent-name": "planner" }), /go together/],
  ["has an odd label", aPod({}, { labels: { "pep.svc/inject": "maybe" } }), /must be "enabled" or "disabled"/],
];

test.each(unsafe)("a pod that %s is refused by both webhooks, with what to change", (_name, pod, message) => {
  for (const strictness of ["strict", "may_be_weaker"] as const) {
    const answer = review(creation(pod), injection, strictness);
    expect(answer).toMatchObject({ allowed: false, message: expect.stringMatching(message) });
    expect(answer).not.toHaveProperty("patch");
  }
});

test("a pod that names a session of its own may not read the one of all others", () => {
  const given = injectionOf({ SVC_INJECTOR_PEP_SESSION_SECRET: "shared" });
  const pod = annotated({ "pep.svc/session-secret": "lent" }, secretVolume("shared"));
  expect(review(creation(pod), given, "strict").message).toContain("volume mine holds Secret shared");
});

test("a redirect that the injector has no image for is refused", () => {
  const without = injectionOf({ SVC_INJECTOR_REDIRECT_IMAGE: "" });
  expect(review(creation(annotated(redirected)), without, "strict")).toMatchObject({
    allowed: false,
    message: expect.stringMatching(/SVC_INJECTOR_REDIRECT_IMAGE/),
  });
});

const weaker: readonly (readonly [what: string, pod: Pod, environment?: Record<string, string>])[] = [
  ["to be left alone", aPod({}, { labels: { "pep.svc/inject": "disabled" } })],
  ["to be observed only", annotated({ "pep.svc/mode": "observe" })],
  ["for upstreams of its own", annotated({ "pep.svc/config": "mine" })],
  ["for a Secret of its own", annotated({ "pep.svc/secret": "mine" })],
  ["to forward what nobody decided", annotated({ "pep.svc/observe-undecided": "forward" })],
  [
    "to forward what no route lists, where that is blocked",
    annotated({ "pep.svc/observe-unlisted": "forward" }),
    { SVC_INJECTOR_PEP_OBSERVE_UNLISTED: "block" },
  ],
  [
    "not to be sent through a proxy that is the default",
    annotated({ "pep.svc/proxy-env": "false" }),
    { SVC_INJECTOR_PEP_PROXY_ENV: "true" },
  ],
  [
    "for fewer redirected ports",
    annotated({ "pep.svc/redirect-ports": "80" }),
    { SVC_INJECTOR_PEP_REDIRECT_PORTS: "80,8080" },
  ],
];

test.each(weaker.map(([what, pod, environment = {}]) => ({ what, pod, environment })))(
  "a pod that asks $what needs a namespace that may be weaker, and is warned about there",
  ({ pod, environment }) => {
    const given = injectionOf(environment);
    expect(review(creation(pod), given, "strict")).toMatchObject({
      allowed: false,
      message: expect.stringContaining('the label pep.svc/allow-weaker: "true" on the namespace'),
    });
    const { allowed, warnings = [] } = review(creation(pod), given, "may_be_weaker");
    expect(allowed).toBe(true);
    expect(warnings).toHaveLength(1);
    for (const warning of warnings) expect(warning.length).toBeLessThanOrEqual(120);
  },
);

test.each([
  ["enforcing where observing is the default", { "pep.svc/mode": "enforce" }, { SVC_INJECTOR_PEP_MODE: "observe" }],
  ["observing where that is the default", { "pep.svc/mode": "observe" }, { SVC_INJECTOR_PEP_MODE: "observe" }],
  ["more redirected ports", { "pep.svc/redirect-ports": "80,8080" }, { SVC_INJECTOR_PEP_REDIRECT_PORTS: "80" }],
  ["more time to drain", { "pep.svc/grace-seconds": "60" }, {}],
])("%s is admitted", (_name, annotations: Record<string, string>, environment) => {
  expect(review(creation(annotated(annotations)), injectionOf(environment), "strict").allowed).toBe(true);
});

const chosenNames: readonly (readonly [string, Partial<Pod["spec"]>])[] = [
  ["hostAliases", { hostAliases: [{ ip: "127.0.0.1", hostnames: ["ledger.internal"] }] }],
  ["dnsPolicy: None", { dnsPolicy: "None", dnsConfig: { nameservers: ["192.0.2.1"] } }],
  ["dnsConfig.nameservers", { dnsConfig: { nameservers: ["192.0.2.1"] } }],
  ["dnsConfig.searches", { dnsConfig: { searches: ["evil.example"] } }],
  ["hostnameOverride", { hostnameOverride: "ledger.internal" }],
];

test.each(chosenNames)(
  "%s, by which a pod chooses the servers of its enforcement point, is refused where enforcement is strict",
  (field, spec) => {
    const request = creation(aPod(spec));
    expect(review(request, injection, "strict").message).toContain(`${field} decides which servers`);
    expect(review(request, injection, "may_be_weaker")).toMatchObject({
      allowed: true,
      warnings: [expect.stringContaining(`svc-pep: not restricted: ${field}`)],
    });
  },
);

test("names of the pod's choice are refused in any namespace where the control plane is called over plain HTTP", () => {
  const plainHttp = injectionOf({ SVC_CONTROL_PLANE_URL: "http://control-plane:8080" });
  const pod = aPod({ hostAliases: [{ ip: "127.0.0.1", hostnames: ["control-plane"] }] });
  expect(review(creation(pod), plainHttp, "may_be_weaker").message).toContain("hostAliases decides which servers");
});

test("options of the resolver that name no server are admitted", () => {
  const pod = aPod({ dnsPolicy: "ClusterFirst", dnsConfig: { options: [{ name: "ndots", value: "2" }] } });
  expect(review(creation(pod), injection, "strict")).not.toHaveProperty("message");
});

test.each([
  ["NO_PROXY", "localhost,127.0.0.1,.svc"],
  ["ALL_PROXY", "http://127.0.0.1:16001"],
  ["HTTPS_PROXY", "http://squid:3128"],
])("%s=%s goes with the proxy", (name, value) => {
  expect(review(creation(annotated(proxied, env(name, value))), injection, "strict")).not.toHaveProperty("message");
});

test("a pod that completes beside a plain sidecar is admitted where it may end it, with a warning that says how", () => {
  const pod = annotated({ ...plain, "pep.svc/quit": "true" }, { restartPolicy: "Never" });
  expect(review(creation(pod), injection, "strict")).toMatchObject({
    allowed: true,
    warnings: ["svc-pep: completes only after the agent's POST http://127.0.0.1:16001/__svc/quit"],
  });
});

test("a pod that completes beside a native sidecar is admitted without a warning", () => {
  const { warnings } = review(creation(aPod({ restartPolicy: "Never" })), injection, "strict");
  expect(warnings).toBeUndefined();
});

test("a deletion passes", () => {
  expect(review({ ...creation(null), operation: "DELETE" }, injection, "strict")).toEqual({ allowed: true });
});

test.each(["CREATE", "UPDATE"])("%s of nothing is refused", (operation) => {
  expect(review({ ...creation(null), operation }, injection, "strict").allowed).toBe(false);
});
