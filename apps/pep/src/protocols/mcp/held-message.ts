import { isWithin } from "@svc/core";
import type { AllowedTools, DefinitionWatch, Era, MessageId } from "../protocol.ts";
import { createMessageReader, edited, isIdOf } from "./answer-message.ts";
import { definitionIn } from "./listed-definition.ts";
import type { ListMember } from "./lists.ts";
import type { McpTargets } from "./targets.ts";

/** A longer list is not filtered but refused; it is in memory until its end. */
const maxListBytes = 8 * 1024 * 1024;
/** So much of another answer is held before it streams, all but its end. */
const maxHeldBytes = 1024 * 1024;

export interface ListContext {
  readonly targets: Pick<McpTargets, "ofListed">;
  /** Of the request that is answered; undefined where it waits for no answer of its own. */
  readonly id: MessageId | undefined;
  /** The request lists what may be called, or opens a stream that may bring the answer to an earlier request. */
  readonly mayList: boolean;
  readonly era?: Era | undefined;
  /** Undefined: the control plane did not say. `all`: only changed tools are hidden. */
  readonly allowed: AllowedTools | "all" | undefined;
  readonly watch?: DefinitionWatch | undefined;
}

/** Bytes of a refused message went to the agent: its connection must be cut, so that they stay incomplete. */
export class AnswerRefused extends Error {
  override readonly name = "AnswerRefused";
}

export type HeldMessage = ReturnType<typeof holdMessage>;

/** Holds one message until it is read. A long one that needs no filter streams, all but its end. */
export function holdMessage(context: ListContext) {
  const { mayList, allowed, id, era } = context;
  const reader = createMessageReader(
    (list, name, start, end) => isListed(context, list, name, () => Buffer.concat(rangeOf(held, received, start, end))),
    era === "modern",
  );
  const cap = mayList ? maxListBytes : maxHeldBytes;
  let held: Buffer[] = [];
  let bytes = 0;
  /** With the chunk that is being read. */
  let received = 0;
  let isStreaming = false;
  let hasBrackets = false;

  /** Passes on all but the bracket that ends the message. */
  const pass = (): Buffer => {
    const all = Buffer.concat(held);
    const closedAt = reader.closedAt();
    const end = closedAt === undefined ? all.length : all.length - (bytes - closedAt) - 1;
    held = [all.subarray(Math.max(0, end))];
    return all.subarray(0, Math.max(0, end));
  };

  return {
    /** Returns the bytes that can be passed on now. */
    write(chunk: Buffer): Buffer {
      if (bytes + chunk.length <= cap || !mayList) held.push(chunk);
      else held = [];
      received += chunk.length;
      const isJson = reader.write(chunk);
      bytes += chunk.length;
      hasBrackets ||= chunk.includes("{") || chunk.includes("[");
      if (bytes <= cap || mayList) return Buffer.alloc(0);
      if (!isJson) throw new AnswerRefused("not JSON");
      isStreaming = true;
      return pass();
    },
    /** Returns the rest. @param mayBeText data without brackets is no message, and passes */
    end(mayBeText: boolean): Buffer {
      const message = reader.end();
      const isText = mayBeText && !hasBrackets && bytes <= cap;
      const isOwn = !mayList && isIdOf(message.idText, id);
      const isRefused =
        message.kind === "unreadable" ? !isText : message.kind === "list" && (mayList ? !allowed : !isOwn);
      if (isStreaming && isRefused) throw new AnswerRefused("a list in another answer");
      if (isRefused || (bytes > cap && mayList)) return Buffer.from(refusal(context, message.idText));
      return edited(Buffer.concat(held), mayList ? message.edits : []);
    },
  };
}

/** The pieces of a range, from the last one back: an element is looked at when its end arrives. */
function rangeOf(held: readonly Buffer[], received: number, start: number, end: number): readonly Buffer[] {
  const pieces: Buffer[] = [];
  let at = received;
  for (let index = held.length - 1; index >= 0 && at > start; index--) {
    const piece = held[index] ?? Buffer.alloc(0);
    at -= piece.length;
    if (at < end) pieces.unshift(piece.subarray(Math.max(0, start - at), end - at));
  }
  return pieces;
}

/** @param bytes of the element */
function isListed(
  { targets, allowed, watch }: ListContext,
  list: ListMember,
  name: string,
  bytes: () => Buffer,
): boolean {
  const call = targets.ofListed(list, name);
  const isChanged =
    list === "tools" && call !== undefined && watch?.isChanged(call.target, () => definitionIn(bytes()));
  if (isChanged && watch?.onChange === "deny") return false;
  if (allowed === "all") return true;
  const declared = call && allowed?.get(call.target);
  return declared !== undefined && call?.dataClasses.some((each) => isWithin(each, declared)) === true;
}

const callFailed = -32603;

/** The JSON-RPC error in place of a message. @param idText of that message, where it has one */
export function refusal({ mayList, allowed, id }: ListContext, idText: string | undefined): string {
  const message =
    mayList && !allowed
      ? "the control plane did not say what may be listed; try again"
      : "the upstream's answer cannot be read for its list: it must be uncompressed JSON or an event stream";
  const error = JSON.stringify({ code: callFailed, message });
  return `{"jsonrpc":"2.0","id":${idText ?? JSON.stringify(id ?? null)},"error":${error}}`;
}
