import type { RequestHeaders } from "../credentials.ts";
import { noteAdmission } from "./admitted.ts";
import { type AdmissionOptions, askedBy, paramsOf } from "./options.ts";
import { refusalOf } from "./refusal.ts";

type HeaderRecord = Exclude<RequestHeaders, Headers>;

/** What the middleware needs of Express's request, or Node's. */
export interface ExpressLikeRequest {
  readonly headers: HeaderRecord;
  /** Node's own record of every value: `headers` keeps the first of two Authorizations and says nothing. */
  readonly headersDistinct?: HeaderRecord;
  /** As a body parser left it. */
  readonly body?: unknown;
}

/** What the middleware needs of Express's response, or Node's. */
export interface ExpressLikeResponse {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
}

/** Express middleware; a handler reads `admissionOf(req)`. A privileged route needs its body parsed before. */
export const expressAdmission =
  <Request extends ExpressLikeRequest>(options: AdmissionOptions<Request>) =>
  async (request: NoInfer<Request>, response: ExpressLikeResponse, next: () => void): Promise<void> => {
    try {
      const { headers, headersDistinct = headers, body } = request;
      const asked = { headers: headersDistinct, params: paramsOf(body), ...askedBy(options, request) };
      noteAdmission(request, await options.verifier.admit(asked));
    } catch (error) {
      return answer(response, refusalOf(error));
    }
    next();
  };

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export function answer(response: ExpressLikeResponse, { status, headers, body }: HttpAnswer): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.end(JSON.stringify(body));
}
