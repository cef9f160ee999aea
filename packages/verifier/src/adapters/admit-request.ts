import { readBounded } from "@svc/core/read-bounded";
import { isPlainJson } from "@svc/tokens";
import type { Admission } from "../admission.ts";
import { contentHeaders, type RequestHeaders } from "../credentials.ts";
import type { CallParams } from "../options.ts";
import type { Verifier } from "../verifier.ts";
import { type HttpResponse, type Refusal, refusalOf } from "./refusal.ts";

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

const admissions = new WeakMap<object, Admission>();

export const recordAdmission = (request: object, admission: Admission): void => {
  admissions.set(request, admission);
};

/**
 * The admission of a request: of the `Request` of a fetch handler, `c.req.raw` of Hono, the request object of Express or
 * Fastify.
 */
export const admissionOf = (request: object): Admission | undefined => admissions.get(request);

/** Admits a request of a route and records its admission. */
export async function admitRequest<Request extends object>(
  { verifier, dataClass, audience, transactionRequired }: AdmissionOptions<Request>,
  request: Request,
  headers: RequestHeaders,
  readParams: () => CallParams | undefined | Promise<CallParams | undefined>,
): Promise<Admission | Refusal> {
  const valueFor = (value: string | ((request: Request) => string)) =>
    typeof value === "function" ? value(request) : value;
  try {
    const admission = await verifier.admit({
      headers,
      params: isJsonBody(headers) ? await readParams() : undefined,
      dataClass: valueFor(dataClass),
      audience: audience === undefined ? undefined : valueFor(audience),
      transactionRequired,
    });
    recordAdmission(request, admission);
    return admission;
  } catch (error) {
    return refusalOf(error);
  }
}

/** Only such a body is read alike by the binding and by every framework (docs/reference/tokens.md#parameter-binding). */
export const isJsonBody = (headers: RequestHeaders): boolean => isPlainJson(contentHeaders(headers));

export const isRefused = (admitted: Admission | HttpResponse): admitted is HttpResponse => "status" in admitted;

/** The parameters in a body as parsed by a framework; undefined for what can bind nothing. */
export function paramsOf(body: unknown): CallParams | undefined {
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  // An array too: the binding refuses it.
  return typeof body === "object" && body !== null ? (body as Readonly<Record<string, unknown>>) : undefined;
}

/** The most that an enforcement point binds (docs/reference/conventions.md#limits). */
const maxBodyBytes = 786_432;

/** The bytes of a request's body, which stays readable; undefined for one that is too long to be bound. */
export const boundedBody = (request: Request): Promise<Uint8Array | undefined> =>
  readBounded(request.clone().body, maxBodyBytes);
