import type { HeaderRecord } from "../credentials.ts";
import { type AdmissionOptions, admitRequest, isRefused, paramsOf } from "./admit-request.ts";
import type { HttpResponse } from "./refusal.ts";

/** The used part of the request of Express or Node. */
export interface ExpressLikeRequest {
  readonly headers: HeaderRecord;
  /** Node's record of every value: `headers` drops the second of two Authorizations. */
  readonly headersDistinct?: HeaderRecord;
  /** As parsed by a body parser. */
  readonly body?: unknown;
}

/** The used part of the response of Express or Node. */
export interface ExpressLikeResponse {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
}

/** Express middleware; a handler reads `admissionOf(req)`. Parse the body of a privileged route before it. */
export const expressAdmission =
  <Request extends ExpressLikeRequest>(options: AdmissionOptions<Request>) =>
  async (request: NoInfer<Request>, response: ExpressLikeResponse, next: () => void): Promise<void> => {
    const { headers, headersDistinct = headers, body } = request;
    const admitted = await admitRequest(options, request, headersDistinct, () => paramsOf(body));
    if (isRefused(admitted)) return send(response, admitted);
    next();
  };

export function send(response: ExpressLikeResponse, { status, headers, body }: HttpResponse): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.end(JSON.stringify(body));
}
