import type { Answer } from "../../message/write-answer.ts";
import { type Block, blockDetails, blockMessage, httpBlockAnswer, inBandBlockAnswer } from "../answers.ts";
import type { MessageId } from "../protocol.ts";

const policyDenied = -32001;
const callFailed = -32603;

/**
 * A JSON-RPC error in a 200 for a request that waits under `id`: an HTTP error would end the MCP client's session. A
 * request without a valid bearer still gets its 401.
 */
export function jsonRpcBlockAnswer(block: Block, id: MessageId | undefined): Answer {
  const { cause } = block;
  if (id === undefined || cause === "unauthorized") return httpBlockAnswer(block);
  const code = cause === "policy" ? policyDenied : callFailed;
  const data = { code: cause, ...blockDetails(block) };
  return inBandBlockAnswer(block, { jsonrpc: "2.0", id, error: { code, message: blockMessage(block), data } });
}
