import type { Admission } from "../admission.ts";
import { recordAdmission } from "./admitted.ts";
import { boundedBody } from "./body.ts";
import { type AdmissionOptions, requestOptions } from "./options.ts";
import { refusalOf } from "./refusal.ts";

/** A `fetch` handler for admitted requests only. */
export const fetchAdmission =
  (
    options: AdmissionOptions<Request>,
    handler: (request: Request, admission: Admission) => Response | Promise<Response>,
  ) =>
  async (request: Request): Promise<Response> => {
    const admitted = await admitRequest(options, request);
    return admitted instanceof Response ? admitted : handler(request, admitted);
  };

/** The admission, or the response of a refusal. */
export async function admitRequest(
  options: AdmissionOptions<Request>,
  request: Request,
): Promise<Admission | Response> {
  try {
    // Only a transaction token is compared with the body.
    const params = request.headers.has("txn-token") ? await boundedBody(request) : undefined;
    const admission = await options.verifier.admit({
      headers: request.headers,
      params,
      ...requestOptions(options, request),
    });
    recordAdmission(request, admission);
    return admission;
  } catch (error) {
    const { status, headers, body } = refusalOf(error);
    return new Response(JSON.stringify(body), { status, headers });
  }
}
