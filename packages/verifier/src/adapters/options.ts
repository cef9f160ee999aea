import type { CallParams } from "../transaction.ts";
import type { Verifier } from "../verifier.ts";

/** How an adapter asks about one route's requests. */
export interface AdmissionOptions<Request> {
  readonly verifier: Verifier;
  /** What the route touches. */
  readonly dataClass: string | ((request: Request) => string);
  /** The route's target, where the verifier's audience does not already say it. */
  readonly audience?: string | ((request: Request) => string);
  /** Asks for a transaction token also where the policy does not call the target privileged. */
  readonly transactionRequired?: boolean;
}

export const askedBy = <Request>(options: AdmissionOptions<Request>, request: Request) => ({
  dataClass: valueFor(options.dataClass, request),
  audience: options.audience === undefined ? undefined : valueFor(options.audience, request),
  transactionRequired: options.transactionRequired,
});

const valueFor = <Request>(value: string | ((request: Request) => string), request: Request): string =>
  typeof value === "function" ? value(request) : value;

/** A body as a framework left it; what is no object and no text has nothing to bind. */
export function paramsOf(body: unknown): CallParams | undefined {
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  // An array is passed on as well: that it is no object is for the binding to refuse.
  return typeof body === "object" && body !== null ? (body as Readonly<Record<string, unknown>>) : undefined;
}
