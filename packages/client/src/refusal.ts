import { type DiffEntry, diffEntry } from "@svc/core";
import type { Answer, Unusable } from "@svc/hop";
import {
  type Asked,
  ControlPlaneRejected,
  ControlPlaneUnavailable,
  ManifestRejected,
  type UnavailableFault,
} from "./errors.ts";

type Unavailable = Pick<Unusable, "answer" | "cause"> & { readonly fault: UnavailableFault };

/**
 * Separates a rejection from an outage (specification: Client exceptions).
 *
 * @returns what to throw: after an abort the signal's own reason
 */
export function errorOf(asked: Asked, { fault, answer, cause }: Unavailable, signal?: AbortSignal): unknown {
  if (fault === "aborted" && signal?.aborted) return signal.reason;
  if (answer && isRejection(answer)) return rejection(asked, answer);
  return new ControlPlaneUnavailable(asked, fault, answer, cause);
}

/**
 * The control plane's own 4xx. A 401 is one however it reads, so that a wrong bearer is never taken for an outage; too
 * many requests are none, since the same request will pass later.
 */
const isRejection = ({ status, code }: Answer): boolean =>
  status === 401 || (status >= 400 && status < 500 && status !== 429 && code !== undefined);

const manifestCodes: readonly unknown[] = ["reconciliation_rejected", "needs_review"];

export const rejection = (asked: Asked, answer: Answer): ControlPlaneRejected =>
  manifestCodes.includes(answer.code)
    ? new ManifestRejected(asked, answer, diffOf(answer))
    : new ControlPlaneRejected(asked, answer);

const diffOf = ({ details }: Answer): readonly DiffEntry[] => diffEntry.array().safeParse(details?.diff).data ?? [];
