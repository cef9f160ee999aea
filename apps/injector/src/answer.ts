import type { Injection } from "./config.ts";
import { admissionReview } from "./pod.ts";
import { type Review, review, type Strictness } from "./review.ts";

export interface Answer {
  readonly status: number;
  readonly body: object;
}

/** The two webhooks by their paths (docs/reference/kubernetes.md#webhooks). */
export const webhooks: ReadonlyMap<string, Strictness> = new Map([
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
