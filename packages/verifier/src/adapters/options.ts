import type { CallParams } from "../transaction.ts";
import type { Verifier } from "../verifier.ts";

/** Options of an adapter for the requests of one route. */
export interface AdmissionOptions<Request> {
  readonly verifier: Verifier;
  /** The data class of the route. */
  readonly dataClass: string | ((request: Request) => string);
  /** The route's target, in place of the verifier's audience. */
  readonly audience?: string | ((request: Request) => string);
  /** Requires a transaction token also for a target that is not privileged. */
  readonly transactionRequired?: boolean;
}

export const requestOptions = <Request>(options: AdmissionOptions<Request>, request: Request) => ({
  dataClass: valueFor(options.dataClass, request),
  audience: options.audience === undefined ? undefined : valueFor(options.audience, request),
  transactionRequired: options.transactionRequired,
});

const valueFor = <Request>(value: string | ((request: Request) => string), request: Request): string =>
  typeof value === "function" ? value(request) : value;

/** The parameters in a body as parsed by a framework; undefined for what can bind nothing. */
export function paramsOf(body: unknown): CallParams | undefined {
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  // An array too: the binding refuses it.
  return typeof body === "object" && body !== null ? (body as Readonly<Record<string, unknown>>) : undefined;
}
