import type { Admission } from "../admission.ts";
import { type AdmissionOptions, admitRequest, boundedBody, isRefused } from "./admit-request.ts";
import type { HttpResponse } from "./refusal.ts";

/** A `fetch` handler for admitted requests only. What a runtime passes after the request follows the admission. */
export const fetchAdmission =
  <Rest extends readonly unknown[]>(
    options: AdmissionOptions<Request>,
    handler: (request: Request, admission: Admission, ...rest: Rest) => Response | Promise<Response>,
  ) =>
  async (request: Request, ...rest: Rest): Promise<Response> => {
    const admitted = await admitFetch(options, request);
    return isRefused(admitted) ? toResponse(admitted) : handler(request, admitted, ...rest);
  };

/** The used part of Hono's context. */
export interface HonoLikeContext {
  readonly req: { readonly raw: Request };
}

/** Hono middleware; a handler reads `admissionOf(c.req.raw)`. Put it before anything that reads the body. */
export const honoAdmission =
  (options: AdmissionOptions<Request>) =>
  async (context: HonoLikeContext, next: () => Promise<void>): Promise<Response | undefined> => {
    const admitted = await admitFetch(options, context.req.raw);
    if (isRefused(admitted)) return toResponse(admitted);
    await next();
    return undefined;
  };

const admitFetch = (options: AdmissionOptions<Request>, request: Request) =>
  admitRequest(options, request, request.headers, () =>
    // Only a transaction token is compared with the body.
    request.headers.has("txn-token") ? boundedBody(request) : undefined,
  );

export const toResponse = ({ status, headers, body }: HttpResponse): Response =>
  new Response(JSON.stringify(body), { status, headers });
