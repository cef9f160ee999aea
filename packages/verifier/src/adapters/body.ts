import { readBounded } from "@svc/core/read-bounded";

/** The most that an enforcement point binds (docs/reference/conventions.md#limits). */
const maxBytes = 786_432;

/** The bytes of a request's body, which stays readable; undefined for one that is too long to be bound. */
export const boundedBody = (request: Request): Promise<Uint8Array | undefined> =>
  readBounded(request.clone().body, maxBytes);
