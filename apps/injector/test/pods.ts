import { applyPatch, type Operation } from "rfc6902";
import type { Injection } from "../src/config.ts";
import { readConfig } from "../src/config.ts";
import type { AdmissionRequest, Container, Pod } from "../src/pod.ts";
import type { Review } from "../src/review.ts";

export function injectionOf(environment: Record<string, string> = {}): Injection {
  const read = readConfig({
    SVC_INJECTOR_TLS_CERT_FILE: "/tls/tls.crt",
    SVC_INJECTOR_TLS_KEY_FILE: "/tls/tls.key",
    SVC_INJECTOR_PEP_IMAGE: "registry.example/svc-pep:1.2.3",
    SVC_INJECTOR_REDIRECT_IMAGE: "registry.example/iptables:1",
    SVC_CONTROL_PLANE_URL: "https://control-plane.svc-system:8080",
    ...environment,
  });
  if (!read.ok) throw new Error(read.faults.join("\n"));
  return read.config.injection;
}

type Metadata = Pod["metadata"];

/** What the restricted pod security standard requires of a pod, and of each of its containers. */
export const restrictedPod = {
  runAsNonRoot: true,
  runAsUser: 1000,
  seccompProfile: { type: "RuntimeDefault" },
};
export const restricted = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };

export const aContainer = (more: Partial<Container> = {}): Container => ({
  name: "agent",
  image: "registry.example/agent:7",
  securityContext: restricted,
  ...more,
});

/** An agent's pod as the API server sends it. */
export const aPod = (spec: Partial<Pod["spec"]> = {}, metadata: Metadata = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "agent-0", namespace: "agents", ...metadata },
  spec: {
    serviceAccountName: "agent",
    securityContext: restrictedPod,
    containers: [aContainer({ ports: [{ containerPort: 3000 }] })],
    ...spec,
  },
});

export const annotated = (annotations: Record<string, string>, spec: Partial<Pod["spec"]> = {}): Pod =>
  aPod(spec, { annotations });

export const creation = (object: Pod | null): AdmissionRequest => ({
  uid: "705ab4f5-6393-11e8-b7cc-42010a800002",
  kind: { group: "", version: "v1", kind: "Pod" },
  operation: "CREATE",
  object,
});

export const update = (oldObject: Pod, object: Pod): AdmissionRequest => ({
  ...creation(object),
  operation: "UPDATE",
  oldObject,
});

export const reviewOf = (request: object) => ({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request });

/** The pod with a review's patch applied, where it was allowed. @throws with the reasons where it was not */
export function patched(pod: Pod, { allowed, message, patch = [] }: Review): Pod {
  if (!allowed) throw new Error(message);
  const changed = structuredClone(pod);
  const faults = applyPatch(changed, structuredClone(patch) as Operation[]).filter((fault) => fault !== null);
  if (faults.length > 0) throw faults[0];
  return changed;
}
