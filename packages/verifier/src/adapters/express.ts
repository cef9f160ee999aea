import type { RequestHeaders } from "../credentials.ts";
import { recordAdmission } from "./admitted.ts";
import { type AdmissionOptions, paramsOf, requestOptions } from "./options.ts";
import { refusalOf } from "./refusal.ts";

type HeaderRecord = Exclude<RequestHeaders, Headers>;

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
    try {
      const { headers, headersDistinct = headers, body } = request;
      const admitRequest = { headers: headersDistinct, params: paramsOf(body), ...requestOptions(options, request) };
      recordAdmission(request, await options.verifier.admit(admitRequest));
    } catch (error) {
      return send(response, refusalOf(error));
    }
    next();
  };

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export function send(response: ExpressLikeResponse, { status, headers, body }: HttpResponse): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.end(JSON.stringify(body));
}
