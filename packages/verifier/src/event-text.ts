/** One server-sent event; its id is that of the last event that had one. */
export interface SentEvent {
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
}

/** Longer than any event is. */
const maxCharacters = 65_536;

/**
 * Reads events from pieces of text (WHATWG HTML section 9.2.6), with data in one line.
 * @throws {RangeError} for an event that is too long
 */
export function eventReader(onEvent: (event: SentEvent) => void): (text: string) => void {
  let rest = "";
  let id: string | undefined;
  let fields: Record<string, string> = {};
  const readLine = (line: string): void => {
    if (line === "") {
      id = fields.id ?? id;
      if (fields.data !== undefined) onEvent({ event: fields.event ?? "message", data: fields.data, id });
      fields = {};
      return;
    }
    const [, name = "", value = ""] = /^([a-z]+): ?(.*)$/.exec(line) ?? [];
    fields[name] = value;
  };
  return (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) readLine(line.replace(/\r$/, ""));
    if (rest.length > maxCharacters) throw new RangeError("too long an event");
  };
}
