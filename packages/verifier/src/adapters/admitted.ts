import type { Admission } from "../admission.ts";

const admissions = new WeakMap<object, Admission>();

/** Notes what a request was admitted as; only an adapter does, so no request can claim it of itself. */
export const noteAdmission = (request: object, admission: Admission): void => {
  admissions.set(request, admission);
};

/**
 * What an adapter admitted this request as: the `Request` of a fetch handler, `c.req.raw` of Hono, the request object
 * of Express or Fastify.
 */
export const admissionOf = (request: object): Admission | undefined => admissions.get(request);
