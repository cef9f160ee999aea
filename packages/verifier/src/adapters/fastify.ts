import type { RequestHeaders } from "../credentials.ts";
import { noteAdmission } from "./admitted.ts";
import { type AdmissionOptions, askedBy, paramsOf } from "./options.ts";
import { refusalOf } from "./refusal.ts";

type HeaderRecord = Exclude<RequestHeaders, Headers>;

/** What the hook needs of Fastify's request. */
export interface FastifyLikeRequest {
  readonly headers: HeaderRecord;
  readonly raw?: { readonly headersDistinct?: HeaderRecord };
  readonly body?: unknown;
}

/** What the hook needs of Fastify's reply. */
export interface FastifyLikeReply {
  code(status: number): unknown;
  headers(headers: Record<string, string>): unknown;
  send(body: unknown): unknown;
}

/** A Fastify `preHandler` hook, which runs after the body was parsed; a handler reads `admissionOf(request)`. */
export const fastifyAdmission =
  <Request extends FastifyLikeRequest>(options: AdmissionOptions<Request>) =>
  async (request: NoInfer<Request>, reply: FastifyLikeReply): Promise<unknown> => {
    try {
      // Node's own record of every value: `headers` keeps the first of two Authorizations and says nothing.
      const headers = request.raw?.headersDistinct ?? request.headers;
      const asked = { headers, params: paramsOf(request.body), ...askedBy(options, request) };
      noteAdmission(request, await options.verifier.admit(asked));
      return undefined;
    } catch (error) {
      const { status, headers, body } = refusalOf(error);
      reply.code(status);
      reply.headers({ ...headers });
      // Answered: Fastify goes no further once the hook returns the reply.
      reply.send(body);
      return reply;
    }
  };
