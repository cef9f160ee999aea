import type { BodyFilter } from "../protocol.ts";
import type { HeldMessage } from "./held-message.ts";

const [lineFeed, carriageReturn, colon, space] = [0x0a, 0x0d, 0x3a, 0x20];
const newLine = Buffer.from("\n");
const byteOrderMark = Buffer.from("\uFEFF");

/** The longest field name is `event`; a byte order mark may be in front of the first. */
const maxNameBytes = 8;
const maxValueBytes = 65_536;
const keptFields: ReadonlySet<string> = new Set(["event", "id", "retry"]);

/** Some readers take other characters for the end of a line too. */
const breaksLines = /[\p{Cc}\u2028\u2029]/u;

/**
 * Reads an event stream as clients do (HTML standard: Server-sent events), and writes it anew from the fields that they
 * know. Each byte is read once. An event without its end is dropped.
 */
export function createEventFilter(holdMessage: () => HeldMessage): BodyFilter {
  let out: Buffer[] = [];
  let fields = "";
  let message: HeldMessage | undefined;
  /** Part of this event's data went out already. */
  let hasWritten = false;
  let isFirstLine = true;
  let afterReturn = false;
  /** The line's beginning, until its colon. */
  let head: Buffer = Buffer.alloc(0);
  let field: string | undefined;
  let value: Buffer[] = [];
  let valueBytes = 0;

  /** Data may have several lines, each with its field name. */
  const writeData = (data: Buffer) => {
    if (!hasWritten) out.push(Buffer.from(`${fields}data: `));
    if (!hasWritten) fields = "";
    hasWritten = true;
    let from = 0;
    while (from < data.length) {
      const end = data.indexOf(lineFeed, from);
      const to = end === -1 ? data.length : end;
      out.push(data.subarray(from, to));
      if (end !== -1) out.push(Buffer.from("\ndata: "));
      from = to + 1;
    }
  };
  const takeData = (bytes: Buffer) => {
    message ??= holdMessage();
    const passed = message.write(bytes);
    if (passed.length > 0) writeData(passed);
  };

  const takeName = (bytes: Buffer) => {
    const at = bytes.indexOf(colon);
    head = Buffer.concat([head, at === -1 ? bytes.subarray(0, maxNameBytes + 1) : bytes.subarray(0, at)]);
    if (at === -1 && head.length <= maxNameBytes) return;
    endName();
    if (at !== -1) takeValue(bytes.subarray(at + 1));
  };
  const endName = () => {
    if (isFirstLine && head.subarray(0, 3).equals(byteOrderMark)) head = head.subarray(3);
    field = head.toString("latin1");
    valueBytes = 0;
    if (field === "data" && message) takeData(newLine);
    if (field === "data") message ??= holdMessage();
  };
  const takeValue = (bytes: Buffer) => {
    const isPadded = valueBytes === 0 && bytes[0] === space;
    if (bytes.length > 0) valueBytes += bytes.length;
    const given = isPadded ? bytes.subarray(1) : bytes;
    if (field === "data") {
      if (given.length > 0) takeData(given);
    } else if (keptFields.has(field ?? "") && valueBytes <= maxValueBytes) value.push(given);
  };

  const endLine = () => {
    if (field === undefined && head.length === 0) dispatch();
    else {
      if (field === undefined) endName();
      const text = Buffer.concat(value).toString("utf8");
      if (keptFields.has(field ?? "") && valueBytes <= maxValueBytes && !breaksLines.test(text))
        fields += `${field}: ${text}\n`;
      // A comment keeps the connection open; clients ignore its text.
      if (field === "" && !hasWritten) out.push(Buffer.from(":\n"));
    }
    isFirstLine = false;
    head = Buffer.alloc(0);
    field = undefined;
    value = [];
  };
  const dispatch = () => {
    if (message) writeData(message.end(true));
    out.push(Buffer.from(hasWritten ? `\n${fields}\n` : `${fields}\n`));
    fields = "";
    message = undefined;
    hasWritten = false;
  };

  const take = (chunk: Buffer) => {
    let from = 0;
    while (from < chunk.length) {
      if (afterReturn && chunk[from] === lineFeed) from += 1;
      afterReturn = false;
      const end = lineEnd(chunk, from);
      const part = chunk.subarray(from, end);
      if (part.length > 0) {
        if (field === undefined) takeName(part);
        else takeValue(part);
      }
      if (end < chunk.length) {
        afterReturn = chunk[end] === carriageReturn;
        endLine();
      }
      from = end + 1;
    }
  };

  return {
    push(chunk) {
      take(chunk);
      const passed = Buffer.concat(out);
      out = [];
      return passed;
    },
    end: () => Buffer.alloc(0),
  };
}

function lineEnd(chunk: Buffer, from: number): number {
  let at = from;
  while (at < chunk.length && chunk[at] !== lineFeed && chunk[at] !== carriageReturn) at++;
  return at;
}
