import type { Admission } from "../admission.ts";
import { noteAdmission } from "./admitted.ts";
import { boundedBody } from "./body.ts";
import { type AdmissionOptions, askedBy } from "./options.ts";
import { refusalOf } from "./refusal.ts";

/** A `fetch` handler that is reached by admitted requests only. */
export const fetchAdmission =
  (
    options: AdmissionOptions<Request>,
    handler: (request: Request, admission: Admission) => Response | Promise<Response>,
  ) =>
  async (request: Request): Promise<Response> => {
    const admitted = await admitRequest(options, request);
    return admitted instanceof Response ? admitted : handler(request, admitted);
  };

/** The admission, or the answer to give in its place. */
export async function admitRequest(
  options: AdmissionOptions<Request>,
  request: Request,
): Promise<Admission | Response> {
  try {
    // Without a transaction token there is nothing to compare the body with.
    const params = request.headers.has("txn-token") ? await boundedBody(request) : undefined;
    const admission = await options.verifier.admit({ headers: request.headers, params, ...askedBy(options, request) });
    noteAdmission(request, admission);
    return admission;
  } catch (error) {
    const { status, headers, body } = refusalOf(error);
    return new Response(JSON.stringify(body), { status, headers });
  }
}
