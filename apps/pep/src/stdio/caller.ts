import { type AnswerSink, errorCodes, eventOf, rpcError, sendJson, streamHeaders } from "./answer.ts";
import type { Message } from "./message.ts";

/** What waits for the answer to one request. */
export interface Caller {
  readonly request: Message;
  answered(line: Buffer, errorCode: number | undefined): void;
  /** A message of the server that belongs to the request, before its answer. */
  event(line: Buffer): void;
  /** Its client cancelled it: there will be no answer. */
  cancelled(): void;
  /** Its server failed: there will be no answer. */
  failed(why: string): void;
}

export interface HttpCallerOptions {
  readonly request: Message;
  readonly answer: AnswerSink;
  readonly statusOf: (errorCode: number | undefined) => number;
  /** Further headers of the answer: name, value, ... */
  readonly headers: readonly string[];
  /** Called after an answer that is an error. */
  readonly onError: () => void;
}

/** Answers with JSON, or with an event stream once the server sends something before its answer. */
export function httpCaller({ request, answer, statusOf, headers, onError }: HttpCallerOptions): Caller {
  let isStream = false;
  const stream = () => {
    if (!isStream) answer.head(200, [...streamHeaders, ...headers]);
    isStream = true;
  };
  const last = (line: Buffer) => {
    answer.write(eventOf(line));
    answer.end();
  };
  return {
    request,
    answered(line, errorCode) {
      if (isStream) last(line);
      else sendJson(answer, statusOf(errorCode), line, headers);
      if (errorCode !== undefined) onError();
    },
    event(line) {
      stream();
      answer.write(eventOf(line));
    },
    cancelled() {
      stream();
      answer.end();
    },
    failed(why) {
      const error = serverFailed(request, why);
      if (isStream) last(error);
      else sendJson(answer, 502, error);
    },
  };
}

/** The call was allowed, and its server gave no answer (docs/reference/enforcement-point.md#stdio-servers). */
export const serverFailed = ({ id }: Pick<Message, "id">, why: string): Buffer =>
  rpcError(id, errorCodes.internal, why, { code: "upstream_unreachable" });
