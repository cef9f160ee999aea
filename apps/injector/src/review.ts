import type { Injection } from "./config.ts";
import { patchOf } from "./patch.ts";
import { type AdmissionRequest, admissionReview, type Pod } from "./pod.ts";
import { injectLabel, readPodRequest, weakerLabel } from "./pod-request.ts";
import { restrictedFaults } from "./pod-security.ts";
import { nameFaults, outlivesAgent, quitCall, refusalsOf } from "./refusals.ts";
import { ownPrefix } from "./sidecar.ts";
import { updateFaults } from "./update.ts";

/** By webhook: pods of some namespaces may request less than the defaults, and stay below the restricted standard. */
export type Strictness = "strict" | "may_be_weaker";

export interface Review {
  readonly allowed: boolean;
  /** Shown to the creator of the pod. */
  readonly message?: string;
  readonly warnings?: readonly string[];
  /** RFC 6902. */
  readonly patch?: readonly unknown[];
}

/** Reviews one admission request. A pod that cannot be guarded is refused, with what to change. Pure. */
export function review(request: AdmissionRequest, injection: Injection, strictness: Strictness): Review {
  const { object: pod, oldObject: old, operation } = request;
  if (operation !== "CREATE" && operation !== "UPDATE") return { allowed: true };
  if (!pod) return refused(["the review holds no pod"]);
  if (operation === "CREATE") return reviewCreation(pod, injection, strictness);
  if (!old) return refused(["the review of an update does not hold the pod as it was"]);
  const { faults, belowFloor } = updateFaults(pod, old, injection);
  return verdict(faults, belowFloor, [], strictness);
}

/** Reviews a pod after every webhook that could change it: it is as the injector would leave it, or refused. */
export function finalReview(request: AdmissionRequest, injection: Injection, strictness: Strictness): Review {
  const { patch = [], ...answer } = review(request, injection, strictness);
  if (patch.length > 0) return refused([undoneReason]);
  // The first review of a creation has given its warnings.
  return request.operation === "CREATE" && answer.allowed ? { allowed: true } : answer;
}

function reviewCreation(pod: Pod, injection: Injection, strictness: Strictness): Review {
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
  const patch = patchOf(pod, injection, wanted.options);
  const belowFloor = [...restrictedFaults(pod), ...nameFaults(pod.spec)];
  const warnings = [
    ...wanted.weaker.map((annotation) => `weaker than the default: ${annotation}`),
    ...(outlivesAgent(pod.spec, wanted.options) ? [`completes only after the agent's ${quitCall}`] : []),
  ];
  const answer = verdict([...faults, ...(patch ? [] : [changedReason])], belowFloor, warnings, strictness);
  return patch && answer.allowed ? { ...answer, patch } : answer;
}

const maxWarningLength = 120;

/** What is below the restricted standard is refused where enforcement is strict, and warned about elsewhere. */
function verdict(
  faults: readonly string[],
  belowFloor: readonly string[],
  warnings: readonly string[],
  strictness: Strictness,
): Review {
  const isStrict = strictness === "strict";
  const reasons = isStrict && belowFloor.length > 0 ? [...faults, floorReason, ...belowFloor] : faults;
  if (reasons.length > 0) return refused([...new Set(reasons)]);
  const all = [...warnings, ...(belowFloor.length > 0 ? [`not restricted: ${belowFloor.join("; ")}`] : [])];
  if (all.length === 0) return { allowed: true };
  return { allowed: true, warnings: all.map((warning) => `svc-pep: ${warning}`.slice(0, maxWarningLength)) };
}

const needsWeaker = `the label ${weakerLabel}: "true" on the namespace`;

/** A person reads so many; a pod may have a thousand containers. */
const mostReasons = 20;

function refused(reasons: readonly string[]): Review {
  const more = reasons.length > mostReasons ? [`and ${reasons.length - mostReasons} more`] : [];
  return { allowed: false, message: `agent authorization: ${[...reasons.slice(0, mostReasons), ...more].join("; ")}` };
}

const changedReason = `the pod brings a container or volume named ${ownPrefix} that is not what would be injected, or stands elsewhere: take all of them out, the injector adds them`;

const undoneReason =
  "another admission webhook changed the pod after the injector: let that one skip the containers of the enforcement point, or run before";

const floorReason = `the restricted pod security standard holds here, and less needs ${needsWeaker}`;

export interface Answer {
  readonly status: number;
  /** Methods, where the status is 405. */
  readonly allow?: string;
  readonly body: object;
}

type Webhook = (request: AdmissionRequest, injection: Injection) => Review;

/** By their paths (docs/reference/kubernetes.md#webhooks). */
export const webhooks: ReadonlyMap<string, Webhook> = new Map([
  ["/mutate", (request, injection) => review(request, injection, "strict")],
  ["/mutate-weaker", (request, injection) => review(request, injection, "may_be_weaker")],
  ["/validate", (request, injection) => finalReview(request, injection, "strict")],
  ["/validate-weaker", (request, injection) => finalReview(request, injection, "may_be_weaker")],
] satisfies readonly [string, Webhook][]);

/** Answers an AdmissionReview. Any other body gets 400, and the API server applies `failurePolicy`. */
export function answerReview(body: string, injection: Injection, webhook: Webhook): Answer {
  const read = admissionReview.safeParse(parsed(body));
  if (!read.success) {
    const [issue] = read.error.issues;
    return {
      status: 400,
      body: { error: `not an AdmissionReview of a pod: ${issue?.path.join(".")}: ${issue?.message}` },
    };
  }
  const { request } = read.data;
  return { status: 200, body: toReview(request.uid, webhook(request, injection)) };
}

/** A member that is null is absent (Kubernetes API conventions: Optional vs. Required). */
function parsed(body: string): unknown {
  try {
    return JSON.parse(body, (_name, value) => value ?? undefined);
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
