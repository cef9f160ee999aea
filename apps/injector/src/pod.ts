import { z } from "zod";

/** The fields of a pod that the injector reads (Kubernetes API, core/v1). A patch leaves all others unchanged. */
const text = z.string().optional();
const flag = z.boolean().optional();
const typed = z.looseObject({ type: text }).optional();

const envVar = z.looseObject({
  name: z.string(),
  value: text,
  valueFrom: z.looseObject({ fileKeyRef: z.looseObject({ volumeName: text }).optional() }).optional(),
});

const securityContext = z
  .looseObject({
    allowPrivilegeEscalation: flag,
    appArmorProfile: typed,
    capabilities: z
      .looseObject({ add: z.array(z.string()).optional(), drop: z.array(z.string()).optional() })
      .optional(),
    privileged: flag,
    procMount: text,
    runAsNonRoot: flag,
    runAsUser: z.number().optional(),
    seccompProfile: typed,
    seLinuxOptions: z.looseObject({ type: text, user: text, role: text }).optional(),
    sysctls: z.array(z.looseObject({ name: z.string() })).optional(),
    windowsOptions: z.looseObject({}).optional(),
  })
  .optional();

const target = z.looseObject({ host: text }).optional();
const handler = z.looseObject({ httpGet: target, tcpSocket: target }).optional();
const amounts = z.record(z.string(), z.union([z.string(), z.number()])).optional();

const container = z.looseObject({
  name: z.string(),
  restartPolicy: text,
  env: z.array(envVar).optional(),
  imagePullPolicy: text,
  ports: z.array(z.looseObject({ containerPort: z.number(), hostPort: z.number().optional() })).optional(),
  resources: z.looseObject({ limits: amounts, requests: amounts }).optional(),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })).optional(),
  volumeDevices: z.array(z.looseObject({ name: z.string() })).optional(),
  livenessProbe: handler,
  readinessProbe: handler,
  startupProbe: handler,
  lifecycle: z.looseObject({ postStart: handler, preStop: handler }).optional(),
  securityContext,
  /** Of an ephemeral container: whose processes it shares. */
  targetContainerName: text,
});

const nodeSelectorTerm = z.looseObject({
  matchExpressions: z
    .array(z.looseObject({ key: z.string(), operator: z.string(), values: z.array(z.string()).optional() }))
    .optional(),
});

const affinity = z.looseObject({
  nodeAffinity: z
    .looseObject({
      requiredDuringSchedulingIgnoredDuringExecution: z
        .looseObject({ nodeSelectorTerms: z.array(nodeSelectorTerm).optional() })
        .optional(),
    })
    .optional(),
});

const spec = z.looseObject({
  affinity: affinity.optional(),
  containers: z.array(container).min(1),
  dnsConfig: z
    .looseObject({ nameservers: z.array(z.string()).optional(), searches: z.array(z.string()).optional() })
    .optional(),
  dnsPolicy: text,
  ephemeralContainers: z.array(container).optional(),
  hostAliases: z.array(z.unknown()).optional(),
  hostIPC: flag,
  hostNetwork: flag,
  hostPID: flag,
  hostnameOverride: text,
  initContainers: z.array(container).optional(),
  nodeSelector: z.record(z.string(), z.string()).optional(),
  os: z.looseObject({ name: z.string() }).optional(),
  restartPolicy: text,
  securityContext,
  shareProcessNamespace: flag,
  volumes: z.array(z.looseObject({ name: z.string() })).optional(),
});

const pod = z.looseObject({
  metadata: z.looseObject({
    labels: z.record(z.string(), z.string()).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
  spec,
});

export type Container = z.infer<typeof container>;
export type SecurityContext = z.infer<typeof securityContext>;
export type PodSpec = z.infer<typeof spec>;
export type Pod = z.infer<typeof pod>;

/** AdmissionReview (admission.k8s.io/v1) of a pod. */
export const admissionReview = z.looseObject({
  apiVersion: z.literal("admission.k8s.io/v1"),
  kind: z.literal("AdmissionReview"),
  request: z.looseObject({
    uid: z.string().min(1),
    kind: z.looseObject({ group: z.literal(""), kind: z.literal("Pod") }),
    operation: z.string(),
    object: pod.nullish(),
    oldObject: pod.nullish(),
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
