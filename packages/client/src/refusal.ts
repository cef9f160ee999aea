import { type DiffEntry, diffEntry } from "@svc/core";
import type { ErrorResponse, Unusable } from "@svc/hop";
import {
  type Asked,
  ControlPlaneRejected,
  ControlPlaneUnavailable,
  ManifestRejected,
  type UnavailableFault,
} from "./errors.ts";

type Unavailable = Pick<Unusable, "response" | "cause"> & { readonly fault: UnavailableFault };

/**
 * Separates a rejection from an outage (specification: Client exceptions).
 *
 * @returns what to throw: after an abort the signal's own reason
 */
export function errorOf(asked: Asked, { fault, response, cause }: Unavailable, signal?: AbortSignal): unknown {
  if (fault === "aborted" && signal?.aborted) return signal.reason;
  if (response && isRejection(response)) return rejection(asked, response);
  return new ControlPlaneUnavailable(asked, fault, response, cause);
}

/** The control plane's own 4xx, and any 401: a wrong bearer is no outage. Not a 429: the same request passes later. */
const isRejection = ({ status, code }: ErrorResponse): boolean =>
  status === 401 || (status >= 400 && status < 500 && status !== 429 && code !== undefined);

const manifestCodes: readonly unknown[] = ["reconciliation_rejected", "needs_review"];

export const rejection = (asked: Asked, response: ErrorResponse): ControlPlaneRejected =>
  manifestCodes.includes(response.code)
    ? new ManifestRejected(asked, response, diffOf(response))
    : new ControlPlaneRejected(asked, response);

const diffOf = ({ details }: ErrorResponse): readonly DiffEntry[] =>
  diffEntry.array().safeParse(details?.diff).data ?? [];
