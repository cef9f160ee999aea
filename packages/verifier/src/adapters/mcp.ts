import { type Admission, AdmissionRefused } from "../admission.ts";
import type { RequestHeaders } from "../credentials.ts";
import type { Verifier } from "../verifier.ts";
import { noteAdmission } from "./admitted.ts";
import { boundedBody } from "./body.ts";
import { answer, type ExpressLikeRequest, type ExpressLikeResponse, type HttpAnswer } from "./express.ts";
import { callOf, type McpCall, type McpServer, parsedBody, sessionCall } from "./mcp-message.ts";
import { paramsOf } from "./options.ts";
import { json, refusalOf } from "./refusal.ts";

/** The verifier before an MCP server, and what its tools touch. */
export interface McpAdmissionOptions extends McpServer {
  readonly verifier: Verifier;
}

/**
 * Stands before an MCP server's Streamable HTTP endpoint as a `fetch` handler. The target is computed from the message;
 * a privileged call is bound to the whole of it.
 */
export const mcpFetchAdmission =
  (options: McpAdmissionOptions, handler: (request: Request, admission: Admission) => Response | Promise<Response>) =>
  async (request: Request): Promise<Response> => {
    const body = request.method === "POST" ? await boundedBody(request) : undefined;
    const admitted = await admitMessage(options, request.method, request.headers, body);
    if (isAnswer(admitted)) return new Response(JSON.stringify(admitted.body), admitted);
    noteAdmission(request, admitted);
    return handler(request, admitted);
  };

/** The same as Express middleware, after `express.json()`; a handler reads `admissionOf(req)`. */
export const mcpExpressAdmission =
  (options: McpAdmissionOptions) =>
  async (
    request: ExpressLikeRequest & { readonly method?: string | undefined },
    response: ExpressLikeResponse,
    next: () => void,
  ): Promise<void> => {
    const { method = "", headers, headersDistinct = headers, body } = request;
    const admitted = await admitMessage(options, method, headersDistinct, method === "POST" ? body : undefined);
    if (isAnswer(admitted)) return answer(response, admitted);
    noteAdmission(request, admitted);
    next();
  };

const isAnswer = (value: Admission | HttpAnswer): value is HttpAnswer => "status" in value;

async function admitMessage(
  { verifier, ...server }: McpAdmissionOptions,
  method: string,
  headers: RequestHeaders,
  body: unknown,
): Promise<Admission | HttpAnswer> {
  const call = method === "POST" ? callOf(server, parsedBody(body)) : sessionCall(server.server);
  if (!call) return notOneMessage;
  const { audience, dataClass } = call;
  try {
    if (dataClass === undefined) throw new AdmissionRefused("data_class");
    return await verifier.admit({ headers, audience, dataClass, params: paramsOf(body) });
  } catch (error) {
    return answerTo(error, call);
  }
}

/** A batch, or nothing that a target reference could name. */
const notOneMessage: HttpAnswer = {
  status: 400,
  headers: json,
  body: { error: { code: "invalid_request", message: "Not one JSON-RPC message." } },
};

/**
 * An HTTP error would tear the client's session down, so a request gets a JSON-RPC error that echoes its id; a 401 and
 * what has no id stay HTTP (docs/reference/enforcement-point.md#blocked-answers).
 */
function answerTo(error: unknown, { id }: McpCall): HttpAnswer {
  const { status, headers, body } = refusalOf(error);
  if (status === 401 || id === undefined) return { status, headers, body };
  const code = status === 403 ? -32_001 : -32_603;
  const rpcError = { code, message: body.error.message, data: { code: body.error.code } };
  return { status: 200, headers: json, body: { jsonrpc: "2.0", id, error: rpcError } };
}
