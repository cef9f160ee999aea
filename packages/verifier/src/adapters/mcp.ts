import { type Admission, AdmissionRefused } from "../admission.ts";
import type { RequestHeaders } from "../credentials.ts";
import type { Verifier } from "../verifier.ts";
import { boundedBody, isJsonBody, isRefused, paramsOf, recordAdmission } from "./admit-request.ts";
import { type ExpressLikeRequest, type ExpressLikeResponse, send } from "./express.ts";
import { toResponse } from "./fetch.ts";
import { callOf, type McpCall, type McpServer, parsedBody, sessionCall } from "./mcp-message.ts";
import { type HttpResponse, json, refusalOf } from "./refusal.ts";

/** The verifier of an MCP server, and the data classes of its tools. */
export interface McpAdmissionOptions extends McpServer {
  readonly verifier: Verifier;
}

/**
 * A `fetch` handler before an MCP server's Streamable HTTP endpoint. The target is computed from the message; a
 * privileged call is bound to the whole message.
 */
export const mcpFetchAdmission =
  (options: McpAdmissionOptions, handler: (request: Request, admission: Admission) => Response | Promise<Response>) =>
  async (request: Request): Promise<Response> => {
    const body = request.method === "POST" ? await boundedBody(request) : undefined;
    const admitted = await admitMessage(options, request.method, request.headers, body);
    if (isRefused(admitted)) return toResponse(admitted);
    recordAdmission(request, admitted);
    return handler(request, admitted);
  };

/** `mcpFetchAdmission` as Express middleware, after `express.json()`; a handler reads `admissionOf(req)`. */
export const mcpExpressAdmission =
  (options: McpAdmissionOptions) =>
  async (
    request: ExpressLikeRequest & { readonly method?: string | undefined },
    response: ExpressLikeResponse,
    next: () => void,
  ): Promise<void> => {
    const { method = "", headers, headersDistinct = headers, body } = request;
    const admitted = await admitMessage(options, method, headersDistinct, method === "POST" ? body : undefined);
    if (isRefused(admitted)) return send(response, admitted);
    recordAdmission(request, admitted);
    next();
  };

async function admitMessage(
  { verifier, ...server }: McpAdmissionOptions,
  method: string,
  headers: RequestHeaders,
  body: unknown,
): Promise<Admission | HttpResponse> {
  const call = method === "POST" ? isJsonBody(headers) && callOf(server, parsedBody(body)) : sessionCall(server.server);
  if (!call) return notOneMessage;
  const { audience, dataClass } = call;
  try {
    if (dataClass === undefined) throw new AdmissionRefused("data_class");
    return await verifier.admit({ headers, audience, dataClass, params: paramsOf(body) });
  } catch (error) {
    return errorResponse(error, call);
  }
}

const notOneMessage: HttpResponse = {
  status: 400,
  headers: json,
  body: { error: { code: "invalid_request", message: "Not one JSON-RPC message." } },
};

/**
 * An HTTP error would end the client's session, so a request gets a JSON-RPC error with its id. A 401 and a message
 * without id get an HTTP error (docs/reference/enforcement-point.md#blocked-answers).
 */
function errorResponse(error: unknown, { id }: McpCall): HttpResponse {
  const { status, headers, body } = refusalOf(error);
  if (status === 401 || id === undefined) return { status, headers, body };
  const code = status === 403 ? -32_010 : -32_603;
  const rpcError = { code, message: body.error.message, data: { code: body.error.code } };
  return { status: 200, headers: json, body: { jsonrpc: "2.0", id, error: rpcError } };
}
