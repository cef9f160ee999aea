import type { Injection } from "./config.ts";
import { patchOf } from "./patch.ts";
import { type AdmissionRequest, admissionReview } from "./pod.ts";
import { injectLabel, readPodRequest, weakerLabel } from "./pod-request.ts";
import { refusalsOf } from "./refusals.ts";
import { ownPrefix } from "./sidecar.ts";

/** By webhook: pods in the second one's namespaces may request less than the defaults. */
export type Strictness = "strict" | "may_be_weaker";

export interface Review {
  readonly allowed: boolean;
  /** Shown to the creator of the pod. */
  readonly message?: string;
  readonly warnings?: readonly string[];
  /** RFC 6902. */
  readonly patch?: readonly unknown[];
}

const maxWarningLength = 120;

/** Reviews one admission request. A pod that cannot be guarded is refused, with what to change. Pure. */
export function review(request: AdmissionRequest, injection: Injection, strictness: Strictness): Review {
  const { object: pod, operation, subResource } = request;
  // The containers of a running pod cannot be changed.
  if (operation !== "CREATE" || (subResource ?? "") !== "" || pod === null) return { allowed: true };
  const wanted = readPodRequest(pod, injection.defaults);
  if (wanted.kind === "invalid") return refused(wanted.faults);
  if (wanted.kind === "decline") {
    if (strictness === "may_be_weaker")
      return { allowed: true, warnings: ["svc-pep: not injected, nothing is enforced"] };
    return refused([`label ${injectLabel}: "disabled" needs ${needsWeaker}`]);
  }
  if (wanted.weaker.length > 0 && strictness === "strict") {
    return refused(wanted.weaker.map((annotation) => `${annotation} needs ${needsWeaker}`));
  }
  const faults = refusalsOf(pod, injection, wanted.options);
  if (faults.length > 0) return refused(faults);
  const patch = patchOf(pod, injection, wanted.options);
  if (!patch) return refused([changedReason]);
  const warnings = wanted.weaker.map((annotation) =>
    `svc-pep: weaker than the default: ${annotation}`.slice(0, maxWarningLength),
  );
  return { allowed: true, patch, ...(warnings.length > 0 && { warnings }) };
}

const needsWeaker = `the label ${weakerLabel}: "true" on the namespace`;

const refused = (reasons: readonly string[]): Review => ({
  allowed: false,
  message: `agent authorization: ${reasons.join("; ")}`,
});

const changedReason = `the pod brings a container or volume named ${ownPrefix} that is not what would be injected: take all of them out, the injector adds them`;

export interface Answer {
  readonly status: number;
  readonly body: object;
}

/** The two webhooks by their paths (docs/reference/kubernetes.md#webhooks). */
export const webhooks = new Map<string, Strictness>([
  ["/mutate", "strict"],
  ["/mutate-weaker", "may_be_weaker"],
]);

/** Answers an AdmissionReview. Any other body gets 400, and the API server applies `failurePolicy`. */
export function answerReview(body: string, injection: Injection, strictness: Strictness): Answer {
  const read = admissionReview.safeParse(parsed(body));
  if (!read.success) {
    const [issue] = read.error.issues;
    return {
      status: 400,
      body: { error: `not an AdmissionReview of a pod: ${issue?.path.join(".")}: ${issue?.message}` },
    };
  }
  const { request } = read.data;
  return { status: 200, body: toReview(request.uid, review(request, injection, strictness)) };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

const toReview = (uid: string, { allowed, message, warnings, patch }: Review) => ({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  response: {
    uid,
    allowed,
    ...(message !== undefined && { status: { code: 403, message } }),
    ...(warnings !== undefined && { warnings }),
    ...(patch !== undefined &&
      patch.length > 0 && { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") }),
  },
});
