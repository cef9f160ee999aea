import type { HeaderRecord } from "../credentials.ts";
import { type AdmissionOptions, admitRequest, isRefused, paramsOf } from "./admit-request.ts";

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
    // Node's record of every value: `headers` drops the second of two Authorizations.
    const headers = request.raw?.headersDistinct ?? request.headers;
    const admitted = await admitRequest(options, request, headers, () => paramsOf(request.body));
    if (!isRefused(admitted)) return undefined;
    reply.code(admitted.status);
    reply.headers({ ...admitted.headers });
    // Fastify stops once the hook returns the reply.
    reply.send(admitted.body);
    return reply;
  };
