import { z } from "zod";

/** The fields of a pod that the injector reads (Kubernetes API, core/v1). A patch leaves all others unchanged. */
const named = z.looseObject({ name: z.string().optional() });

const envVar = z.looseObject({
  name: z.string(),
  value: z.string().optional(),
  valueFrom: z.looseObject({ secretKeyRef: named.optional() }).optional(),
});

const securityContext = z.looseObject({
  runAsUser: z.number().optional(),
  privileged: z.boolean().optional(),
  capabilities: z.looseObject({ add: z.array(z.string()).optional(), drop: z.array(z.string()).optional() }).optional(),
});

const container = z.looseObject({
  name: z.string(),
  restartPolicy: z.string().optional(),
  env: z.array(envVar).optional(),
  envFrom: z.array(z.looseObject({ secretRef: named.optional() })).optional(),
  ports: z.array(z.looseObject({ containerPort: z.number() })).optional(),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })).optional(),
  securityContext: securityContext.optional(),
});

const volume = z.looseObject({
  name: z.string(),
  secret: z.looseObject({ secretName: z.string().optional() }).optional(),
  projected: z.looseObject({ sources: z.array(z.looseObject({ secret: named.optional() })).optional() }).optional(),
});

const pod = z.looseObject({
  metadata: z.looseObject({
    labels: z.record(z.string(), z.string()).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
  spec: z.looseObject({
    hostNetwork: z.boolean().optional(),
    shareProcessNamespace: z.boolean().optional(),
    os: z.looseObject({ name: z.string() }).optional(),
    nodeSelector: z.record(z.string(), z.string()).optional(),
    securityContext: securityContext.optional(),
    initContainers: z.array(container).optional(),
    containers: z.array(container).min(1),
    volumes: z.array(volume).optional(),
  }),
});

export type Container = z.infer<typeof container>;
export type Pod = z.infer<typeof pod>;

/** AdmissionReview (admission.k8s.io/v1) for the creation of a pod. */
export const admissionReview = z.looseObject({
  apiVersion: z.literal("admission.k8s.io/v1"),
  kind: z.literal("AdmissionReview"),
  request: z.looseObject({
    uid: z.string().min(1),
    kind: z.looseObject({ group: z.literal(""), kind: z.literal("Pod") }),
    operation: z.string(),
    subResource: z.string().optional(),
    object: pod.nullable(),
  }),
});
export type AdmissionRequest = z.infer<typeof admissionReview>["request"];

/** RFC 6902. */
export interface Addition {
  readonly op: "add";
  readonly path: string;
  readonly value: unknown;
}

const meshContainers: readonly string[] = [
  ...["istio-init", "istio-validation", "istio-proxy"],
  ...["linkerd-init", "linkerd-network-validator", "linkerd-proxy"],
];

export const isMeshContainer = (name: string): boolean => meshContainers.includes(name);

/** A mesh's init containers stay first: our traffic passes the mesh. */
export const meshInitCount = ({ spec }: Pod): number =>
  (spec.initContainers ?? []).findLastIndex(({ name }) => isMeshContainer(name)) + 1;
