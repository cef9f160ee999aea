import type { Admission } from "../admission.ts";

const admissions = new WeakMap<object, Admission>();

/** Records the admission of a request. */
export const recordAdmission = (request: object, admission: Admission): void => {
  admissions.set(request, admission);
};

/**
 * The admission of a request: of the `Request` of a fetch handler, `c.req.raw` of Hono, the request object of Express or
 * Fastify.
 */
export const admissionOf = (request: object): Admission | undefined => admissions.get(request);
