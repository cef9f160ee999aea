import type { Injection } from "./config.ts";
import { type Patched, patchOf } from "./patch.ts";
import type { AdmissionRequest } from "./pod.ts";
import { refusalsOf } from "./refusals.ts";
import { injectLabel, readWishes, weakerLabel } from "./wishes.ts";

/** Which of the two webhooks asks: the second one's namespaces may ask for less than the defaults. */
export type Strictness = "strict" | "may_be_weaker";

export interface Review {
  readonly allowed: boolean;
  /** Shown to whoever created the pod. */
  readonly message?: string;
  readonly warnings?: readonly string[];
  /** RFC 6902. */
  readonly patch?: readonly unknown[];
}

const maxWarningLength = 120;

/** Answers one admission request. Pure; whatever it cannot guard it refuses, with what to change. */
export function review(request: AdmissionRequest, injection: Injection, strictness: Strictness): Review {
  const { object: pod, operation, subResource } = request;
  // Containers of a pod that runs cannot be changed.
  if (operation !== "CREATE" || (subResource ?? "") !== "" || pod === null) return { allowed: true };
  const wishes = readWishes(pod, injection.defaults);
  if (wishes.kind === "faulty") return refused(wishes.faults);
  if (wishes.kind === "leave") {
    if (strictness === "may_be_weaker")
      return { allowed: true, warnings: ["svc-pep: not injected, nothing is enforced"] };
    return refused([`label ${injectLabel}: "disabled" needs ${needsWeaker}`]);
  }
  if (wishes.weaker.length > 0 && strictness === "strict") {
    return refused(wishes.weaker.map((wish) => `${wish} needs ${needsWeaker}`));
  }
  const faults = refusalsOf(pod, injection, wishes.options);
  if (faults.length > 0) return refused(faults);
  return answered(patchOf(pod, injection, wishes.options), wishes.weaker);
}

const needsWeaker = `the label ${weakerLabel}: "true" on the namespace`;

const refused = (reasons: readonly string[]): Review => ({
  allowed: false,
  message: `agent authorization: ${reasons.join("; ")}`,
});

function answered(patched: Patched, weaker: readonly string[]): Review {
  if (patched.kind === "refused") return refused([patched.reason]);
  const warnings = weaker.map((wish) => `svc-pep: weaker than the default: ${wish}`.slice(0, maxWarningLength));
  return { allowed: true, patch: patched.patch, ...(warnings.length > 0 && { warnings }) };
}
