import { firstModernRevision } from "@svc/core";
import { valuesOf } from "../message/headers.ts";
import { type AnswerSink, type BridgedRequest, errorCodes, rpcError, sendEmpty, sendJson } from "./answer.ts";
import { httpCaller, serverFailed } from "./caller.ts";
import { eraOf } from "./era.ts";
import { type Message, readMessage } from "./message.ts";
import type { Processes, SessionProcess } from "./processes.ts";

/** A POST with one message, of a session that the enforcement point verified. */
interface Posted {
  readonly session: string;
  readonly message: Message;
  readonly request: BridgedRequest;
  readonly answer: AnswerSink;
}

export interface EndpointOptions {
  /** The upstream's name. */
  readonly name: string;
  readonly processes: Processes;
  readonly newId: () => string;
}

const header = ({ headers }: BridgedRequest, name: string): string | undefined => valuesOf(headers, name)[0];

/**
 * MCP over Streamable HTTP in front of a server's processes: with `initialize` and `Mcp-Session-Id` up to 2025-11-25,
 * request by request since 2026-07-28.
 */
export function createEndpoint({ name, processes, newId }: EndpointOptions) {
  const refuse = (answer: AnswerSink, status: number, code: number, text: string, id?: Message["id"]) =>
    sendJson(answer, status, rpcError(id, code, text));
  const fail = ({ answer, message }: Posted, why: string) =>
    sendJson(answer, 502, serverFailed(message, `the server of upstream ${name} ${why}`));
  const find = (session: string, mcpSessionId: string): SessionProcess | undefined =>
    processes.of(session).find((each) => each.mcpSessionId === mcpSessionId);
  const noSession = (answer: AnswerSink, id?: Message["id"]) =>
    refuse(answer, 404, errorCodes.unknownSession, "no such MCP session: initialize again", id);

  const call = ({ message, request, answer }: Posted, { process }: SessionProcess, more: Partial<CallOptions> = {}) => {
    const { statusOf = () => 200, headers = [], onError = () => {} } = more;
    const caller = httpCaller({ request: message, answer, statusOf, headers, onError });
    process.call(caller, request.body);
    answer.onGone(() => process.cancel(caller));
  };

  const initialize = (posted: Posted) => {
    const isFree = ({ process }: SessionProcess) => process.era() === "undecided" && process.isIdle();
    const started = processes.of(posted.session).find(isFree) ?? processes.start(posted.session);
    if ("why" in started) return fail(posted, started.why);
    started.process.setEra("initialize");
    started.mcpSessionId = newId();
    call(posted, started, {
      headers: ["mcp-session-id", started.mcpSessionId],
      onError: () => void processes.end(started, "refused"),
    });
  };

  const inSession = (posted: Posted, mcpSessionId: string) => {
    const { session, message, request, answer } = posted;
    const found = find(session, mcpSessionId);
    if (!found) return noSession(answer, message.id);
    const { process } = found;
    if (message.kind !== "request") {
      process.send(request.body);
      if (message.method === "notifications/cancelled") process.settleCancelled(message.requestId);
      return sendEmpty(answer, 202);
    }
    if (process.admits(message)) return call(posted, found);
    refuse(answer, 400, errorCodes.invalid, "the id or the progress token of a call under way", message.id);
  };

  const stateless = async (posted: Posted, version: string): Promise<void> => {
    const { session, message, answer } = posted;
    const isCandidate = ({ process }: SessionProcess) => process.era() !== "initialize" && process.admits(message);
    const chosen = processes.of(session).find(isCandidate) ?? processes.start(session);
    if ("why" in chosen) return fail(posted, chosen.why);
    const era = await eraOf(chosen, version);
    if (chosen.process.hasEnded()) return fail(posted, "ended");
    if (era === "initialize") {
      const text = `the server of upstream ${name} speaks no version of MCP without a handshake: initialize first`;
      return refuse(answer, 400, errorCodes.noSession, text, message.id);
    }
    // While the era was found out, another call may have taken the id.
    if (!chosen.process.admits(message)) return stateless(posted, version);
    call(posted, chosen, { statusOf: statelessStatus });
  };

  const post = (posted: Posted): void | Promise<void> => {
    const { message, request, answer } = posted;
    const mcpSessionId = header(request, "mcp-session-id");
    if (mcpSessionId !== undefined) return inSession(posted, mcpSessionId);
    if (message.kind === "request" && message.method === "initialize") return initialize(posted);
    const named = header(request, "mcp-protocol-version");
    if (message.version === undefined && (named === undefined || named < firstModernRevision)) {
      return refuse(answer, 400, errorCodes.noSession, "initialize first, and send Mcp-Session-Id", message.id);
    }
    if (message.version === undefined || message.version !== named || message.kind !== "request") {
      const text = "MCP-Protocol-Version and the version in _meta of a request must be the same";
      return refuse(answer, 400, errorCodes.headerMismatch, text, message.id);
    }
    return stateless(posted, message.version);
  };

  const ofSession = (session: string, { method, ...request }: BridgedRequest, answer: AnswerSink) => {
    const mcpSessionId = header({ method, ...request }, "mcp-session-id");
    if (mcpSessionId === undefined) return sendEmpty(answer, 405, ["allow", "POST"]);
    const found = find(session, mcpSessionId);
    if (!found) return noSession(answer);
    if (method === "GET") {
      if (!found.process.openStream(answer)) refuse(answer, 409, errorCodes.noSession, "another stream is open");
      return;
    }
    void processes.end(found, "client");
    sendEmpty(answer, 200);
  };

  return (request: Omit<BridgedRequest, "body"> & { body: Buffer | undefined }, answer: AnswerSink) => {
    const { body = Buffer.alloc(0) } = request;
    const whole = { ...request, body };
    const session = header(whole, "x-svc-session");
    // Without a decision the session is the caller's own word.
    if (session === undefined) return refuse(answer, 403, errorCodes.invalid, "a call that was not decided");
    if (request.method === "GET" || request.method === "DELETE") return ofSession(session, whole, answer);
    if (request.method !== "POST") return sendEmpty(answer, 405, ["allow", "GET, POST, DELETE"]);
    if (request.body === undefined) return refuse(answer, 413, errorCodes.invalid, "the message is too long");
    const message = readMessage(body);
    if (!message) return refuse(answer, 400, errorCodes.parse, "the body is not one JSON-RPC message");
    return post({ session, message, request: whole, answer });
  };
}

interface CallOptions {
  readonly statusOf: (errorCode: number | undefined) => number;
  readonly headers: readonly string[];
  /** The server answered with an error. */
  readonly onError: () => void;
}

/** MCP 2026-07-28, Streamable HTTP: these errors have a status of their own. */
function statelessStatus(errorCode: number | undefined): number {
  if (errorCode === errorCodes.noMethod) return 404;
  return errorCode !== undefined && errorCode <= -32020 && errorCode >= -32022 ? 400 : 200;
}
