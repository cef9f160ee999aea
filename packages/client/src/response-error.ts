import { type DiffEntry, diffEntry } from "@svc/core";
import type { ErrorResponse, Unusable } from "@svc/hop";
import {
  ControlPlaneRejected,
  ControlPlaneUnavailable,
  ManifestRejected,
  type RequestLine,
  type UnavailableFault,
} from "./errors.ts";

type Unavailable = Pick<Unusable, "response" | "cause"> & { readonly fault: UnavailableFault };

/**
 * Separates a rejection from an outage (docs/reference/client.md#exceptions).
 *
 * @returns what to throw: after an abort the signal's own reason
 */
export function errorOf(request: RequestLine, { fault, response, cause }: Unavailable, signal?: AbortSignal): unknown {
  if (fault === "aborted" && signal?.aborted) return signal.reason;
  if (response && isRejection(response)) return rejection(request, response);
  return new ControlPlaneUnavailable(request, fault, response, cause);
}

/** The control plane's own 4xx, and any 401: a wrong bearer is no outage. Not a 429: the same request passes later. */
const isRejection = ({ status, code }: ErrorResponse): boolean =>
  status === 401 || (status >= 400 && status < 500 && status !== 429 && code !== undefined);

const manifestCodes: readonly unknown[] = ["reconciliation_rejected", "needs_review"];

export const rejection = (request: RequestLine, response: ErrorResponse): ControlPlaneRejected =>
  manifestCodes.includes(response.code)
    ? new ManifestRejected(request, response, diffOf(response))
    : new ControlPlaneRejected(request, response);

const diffOf = ({ details }: ErrorResponse): readonly DiffEntry[] =>
  diffEntry.array().safeParse(details?.diff).data ?? [];
