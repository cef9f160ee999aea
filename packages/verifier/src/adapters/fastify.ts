import type { RequestHeaders } from "../credentials.ts";
import { recordAdmission } from "./admitted.ts";
import { type AdmissionOptions, paramsOf, requestOptions } from "./options.ts";
import { refusalOf } from "./refusal.ts";

type HeaderRecord = Exclude<RequestHeaders, Headers>;

/** The used part of Fastify's request. */
export interface FastifyLikeRequest {
  readonly headers: HeaderRecord;
  readonly raw?: { readonly headersDistinct?: HeaderRecord };
  readonly body?: unknown;
}

/** The used part of Fastify's reply. */
export interface FastifyLikeReply {
  code(status: number): unknown;
  headers(headers: Record<string, string>): unknown;
  send(body: unknown): unknown;
}

/** A Fastify `preHandler` hook, called with the parsed body; a handler reads `admissionOf(request)`. */
export const fastifyAdmission =
  <Request extends FastifyLikeRequest>(options: AdmissionOptions<Request>) =>
  async (request: NoInfer<Request>, reply: FastifyLikeReply): Promise<unknown> => {
    try {
      // Node's record of every value: `headers` drops the second of two Authorizations.
      const headers = request.raw?.headersDistinct ?? request.headers;
      const admitRequest = { headers, params: paramsOf(request.body), ...requestOptions(options, request) };
      recordAdmission(request, await options.verifier.admit(admitRequest));
      return undefined;
    } catch (error) {
      const { status, headers, body } = refusalOf(error);
      reply.code(status);
      reply.headers({ ...headers });
      // Fastify stops once the hook returns the reply.
      reply.send(body);
      return reply;
    }
  };
