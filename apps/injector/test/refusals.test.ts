import { expect, test } from "vitest";
import type { Pod } from "../src/pod.ts";
import { review } from "../src/review.ts";
import { annotated, aPod, creation, injectionOf } from "./pods.ts";

const injection = injectionOf();
const redirected = { "pep.svc/redirect-ports": "80" };
const agent = (more: object) => ({ containers: [{ name: "agent", ...more }] });
/** What a container must say of itself to be redirected for sure. */
const confined = { runAsUser: 1000, capabilities: { drop: ["ALL"] } };
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
    "is redirected and may become any user",
    annotated(redirected, agent({ securityContext: { runAsUser: 1000 } })),
    /container agent may become user 10001.*drop ALL/,
  ],
  [
    "is redirected and does not say as whom it runs",
    annotated(redirected, agent({ securityContext: { capabilities: { drop: ["ALL"] } } })),
    /container agent does not set runAsUser/,
  ],
  ["shares the node's network", aPod({ hostNetwork: true }), /hostNetwork.*take it out/],
  ["shares its processes", aPod({ shareProcessNamespace: true }), /shareProcessNamespace.*take it out/],
  ["runs on Windows", aPod({ os: { name: "windows" } }), /Linux/],
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
    annotated(redirected, agent({ securityContext: { ...confined, runAsUser: 10_001 } })),
    /runs as user 10001/,
  ],
  [
    "does so by the pod's setting",
    annotated(redirected, {
      securityContext: { runAsUser: 10_001 },
      ...agent({ securityContext: { capabilities: { drop: ["ALL"] } } }),
    }),
    /runs as user 10001/,
  ],
  [
    "may undo the redirect",
    annotated(
      redirected,
      agent({ securityContext: { runAsUser: 1000, capabilities: { drop: ["ALL"], add: ["NET_ADMIN"] } } }),
    ),
    /undo the redirect/,
  ],
  [
    "is privileged and redirected",
    annotated(redirected, agent({ securityContext: { ...confined, privileged: true } })),
    /undo the redirect/,
  ],
  [
    "is redirected by a mesh already",
    annotated(redirected, { initContainers: [{ name: "istio-init" }] }),
    /istio-init.*proxy-env/,
  ],
  [
    "has a proxy of its own",
    annotated({ "pep.svc/proxy-env": "true" }, agent({ env: [{ name: "HTTP_PROXY", value: "http://squid" }] })),
    /sets HTTP_PROXY itself/,
  ],
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

test("a redirect that the injector has no image for is refused", () => {
  const without = injectionOf({ SVC_INJECTOR_REDIRECT_IMAGE: "" });
  expect(
    review(creation(annotated(redirected, agent({ securityContext: confined }))), without, "strict"),
  ).toMatchObject({
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
    "not to be sent through a proxy that is the default",
    annotated({ "pep.svc/proxy-env": "false" }),
    { SVC_INJECTOR_PEP_PROXY_ENV: "true" },
  ],
  [
    "for fewer redirected ports",
    annotated({ "pep.svc/redirect-ports": "80" }, agent({ securityContext: confined })),
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
])("%s is nobody's concern", (_name, annotations: Record<string, string>, environment) => {
  expect(
    review(creation(annotated(annotations, agent({ securityContext: confined }))), injectionOf(environment), "strict")
      .allowed,
  ).toBe(true);
});

test.each([
  ["an update", { operation: "UPDATE" }],
  ["a deletion", { operation: "DELETE", object: null }],
  ["a debug container", { operation: "CREATE", subResource: "ephemeralcontainers" }],
])("%s passes unchanged: the containers of a running pod cannot be changed", (_name, more) => {
  expect(review({ ...creation(aPod({ hostNetwork: true })), ...more }, injection, "strict")).toEqual({ allowed: true });
});
