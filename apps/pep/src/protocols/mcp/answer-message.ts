import type { MessageId } from "../protocol.ts";
import { createJsonScanner, type JsonListener } from "./json-scanner.ts";
import { isListMember, type ListMember, listMembers } from "./lists.ts";
import { isDisguisedName, maxMessageDepth, spellings } from "./message.ts";

/** Bytes of a message to be replaced. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** One message of an answer. `idText`: its id as it is written; undefined where two readers could find two. */
export interface AnswerMessage {
  /** `list`: its result lists what may be called. `unreadable`: not one JSON object that every reader reads alike. */
  readonly kind: "plain" | "list" | "unreadable";
  readonly idText: string | undefined;
  /** Of a list: cuts the hidden elements out, and says that what is left is one caller's. */
  readonly edits: readonly Edit[];
}

const messageNames = spellings("jsonrpc", "id", "method", "params", "result", "error");
const resultNames = spellings(...Object.keys(listMembers), "ttlMs", "cacheScope");
const elementNames = spellings(...Object.values(listMembers));

/** What was filtered for one caller is no other's, and old at once (MCP 2026-07-28: Caching). */
const cacheHints: ReadonlyMap<string, string> = new Map([
  ["ttlMs", "0"],
  ["cacheScope", '"private"'],
]);

/** The containers of a list's element: message, result and list. */
const [inMessage, inResult, inList, inElement] = [1, 2, 3, 4];

/** The names of one object's members: repeated and disguised ones are read differently by different readers. */
interface Members {
  latest: string;
  isUnclear: boolean;
  readonly known: ReadonlyMap<string, string>;
  /** Made for the first name: a list may have a million empty objects. */
  seen?: Set<string>;
}

const membersOf = (known: ReadonlyMap<string, string>): Members => ({ latest: "", isUnclear: false, known });

function addMember(members: Members, name: string): void {
  members.seen ??= new Set();
  members.isUnclear ||= members.seen.has(name) || isDisguisedName(name, members.known);
  members.seen.add(name);
  members.latest = name;
}

/** Collects the ranges to be cut out of a list: a hidden element, and one comma beside it. */
function createCuts(edits: Edit[]) {
  let hasKept = false;
  let previousEnd = 0;
  let cutStart: number | undefined;
  const cutUntil = (end: number) => {
    if (cutStart !== undefined) edits.push({ start: cutStart, end, text: "" });
    cutStart = undefined;
  };
  return {
    add(start: number, end: number, isKept: boolean) {
      if (!isKept) cutStart ??= hasKept ? previousEnd : start;
      else {
        cutUntil(hasKept ? previousEnd : start);
        hasKept = true;
      }
      previousEnd = end;
    },
    end: () => cutUntil(previousEnd),
  };
}

/** Of a list's element, by its name or URI, and its place in the message. */
export type IsListed = (list: ListMember, name: string, start: number, end: number) => boolean;

/**
 * Reads one message piece by piece, in one pass.
 * @param isListed elements of which it is not true are cut out
 * @param hasHints a list without cache hints gets them
 */
export function createMessageReader(isListed: IsListed, hasHints: boolean) {
  const message = membersOf(messageNames);
  const edits: Edit[] = [];
  let cuts = createCuts(edits);
  let result: Members | undefined;
  let list: ListMember | undefined;
  let element: Members | undefined;
  let elementName: string | undefined;
  let isList = false;
  let isObject = false;
  let isUnclear = false;
  let idText: string | undefined;
  let valueStart = 0;
  let resultStart = 0;
  let closedAt: number | undefined;

  const membersAt = (depth: number): Members | undefined => {
    if (depth === inMessage) return message;
    if (depth === inResult) return result;
    return depth === inElement ? element : undefined;
  };
  /** A whole value of the result, or a whole element of the list. */
  const valueEnded = (depth: number, start: number, end: number) => {
    const hint = depth === inResult && result ? cacheHints.get(result.latest) : undefined;
    if (hint !== undefined) edits.push({ start, end, text: hint });
    if (depth !== inList || list === undefined) return;
    const isClear = element?.isUnclear === false && elementName !== undefined;
    cuts.add(start, end, isClear && isListed(list, elementName ?? "", start, end));
    element = undefined;
  };

  const listener: JsonListener = {
    isWanted: (isName, depth) =>
      isName
        ? membersAt(depth) !== undefined
        : (depth === inMessage && message.latest === "id") || (depth === inElement && isNameOf(list, element)),
    opened(container, depth, offset) {
      if (depth === 0) isObject = container === "{";
      if (depth === inMessage && isObject && message.latest === "result" && container === "{") {
        result = membersOf(resultNames);
        resultStart = offset + 1;
      }
      if (depth === inResult && container === "[" && isListMember(result?.latest)) {
        list = result.latest;
        cuts = createCuts(edits);
        isList = true;
      }
      if (depth === inList && list !== undefined) {
        element = container === "{" ? membersOf(elementNames) : undefined;
        elementName = undefined;
      }
      if (depth === inResult || (depth === inList && list !== undefined)) valueStart = offset;
    },
    closed(depth, end) {
      if (depth === 0) closedAt = end;
      if (depth === inResult && list !== undefined) {
        cuts.end();
        list = undefined;
      }
      if (depth === inResult || depth === inList) valueEnded(depth, valueStart, end);
      if (depth === inMessage && result) {
        isUnclear ||= result.isUnclear;
        if (hasHints && isList) edits.push(...missingHints(result, resultStart));
        result = undefined;
      }
    },
    scalar(kind, depth, start, end, text) {
      const members = kind === "name" ? membersAt(depth) : undefined;
      if (members) addMember(members, JSON.parse(`"${text}"`));
      if (kind === "name") return;
      if (depth === inMessage && message.latest === "id") idText = idTextOf(kind, text);
      if (depth === inElement && isNameOf(list, element) && kind === "string") elementName = JSON.parse(`"${text}"`);
      if (depth === inResult || depth === inList) valueEnded(depth, start, end);
    },
  };
  const scanner = createJsonScanner(listener, maxMessageDepth);
  const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const isUtf8 = (bytes?: Uint8Array): boolean => {
    try {
      utf8.decode(bytes, { stream: bytes !== undefined });
      return true;
    } catch {
      return false;
    }
  };
  let isFaulty = false;

  return {
    /** @returns false once it is no JSON */
    write(bytes: Uint8Array): boolean {
      isFaulty ||= !isUtf8(bytes) || !scanner.write(bytes);
      return !isFaulty;
    },
    /** The offset after the bracket that ends the message. */
    closedAt: () => closedAt,
    end(): AnswerMessage {
      // Other readers accept more than JSON: NaN, comments, other encodings.
      const isJson = !isFaulty && isUtf8() && scanner.end();
      const isReadable = isJson && (isObject || closedAt === undefined) && !message.isUnclear && !isUnclear;
      const id = message.isUnclear ? undefined : idText;
      if (!isReadable) return { kind: "unreadable", idText: id, edits: [] };
      edits.sort((a, b) => a.start - b.start);
      return isList ? { kind: "list", idText: id, edits } : { kind: "plain", idText: id, edits: [] };
    },
  };
}

const isNameOf = (list: ListMember | undefined, element: Members | undefined): boolean =>
  list !== undefined && element?.latest === listMembers[list];

/** The hints that a result does not have, as members in front of its first. */
const missingHints = (result: Members, start: number): Edit[] =>
  [...cacheHints].flatMap(([name, text]) =>
    result.seen?.has(name) ? [] : [{ start, end: start, text: `"${name}":${text},` }],
  );

/** The bytes with the edits made, and every other byte as it was. */
export function edited(bytes: Buffer, edits: readonly Edit[]): Buffer {
  if (edits.length === 0) return bytes;
  const pieces: Uint8Array[] = [];
  let from = 0;
  for (const { start, end, text } of edits) {
    pieces.push(bytes.subarray(from, start), Buffer.from(text));
    from = end;
  }
  return Buffer.concat([...pieces, bytes.subarray(from)]);
}

/** An id is a string or a number. */
const idTextOf = (kind: "string" | "other", text: string): string | undefined => {
  if (kind === "string") return `"${text}"`;
  return /^[-\d]/.test(text) ? text : undefined;
};

/** Whether an id as it is written is that of a request. */
export const isIdOf = (idText: string | undefined, id: MessageId | undefined): boolean =>
  idText !== undefined && JSON.parse(idText) === id;
