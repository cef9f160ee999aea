import type { ServerResponse } from "node:http";
import { pairs } from "../message/headers.ts";

const maxAnswers = 64;
const maxHeaderBytes = 64 * 1024;

/** Counts the interim answers (1xx) to one request. `takes` returns false from the first that is one, or a byte, too many. */
export function interimBudget() {
  let answers = 0;
  let headerBytes = 0;
  return {
    takes(headers: readonly string[]): boolean {
      answers += 1;
      for (const part of headers) headerBytes += part.length;
      return answers <= maxAnswers && headerBytes <= maxHeaderBytes;
    },
  };
}

/** An upstream sends interim answers without end. */
export class EndlessInterim extends Error {
  override readonly name = "EndlessInterim";
}

/** Passes 102, 103 and the like on; `100 Continue` belongs to each connection. Node before 26 cannot send them. */
export function relayInterim(response: ServerResponse, status: number, headers: string[]): void {
  // An HTTP/1.0 client reads it as the final answer (RFC 9110 section 15.2).
  if (status === 100 || response.req.httpVersion === "1.0" || !("writeInformation" in response)) return;
  const fields: Record<string, string[]> = {};
  for (const [name, value] of pairs(headers)) fields[name] = [...(fields[name] ?? []), value];
  response.writeInformation(status, fields);
}
