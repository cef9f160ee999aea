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
 * @returns the events that a piece completes. @throws {RangeError} for an event that is too long
 */
export function eventReader(): (text: string) => readonly SentEvent[] {
  let rest = "";
  let id: string | undefined;
  let event: string | undefined;
  let data: string | undefined;
  const readField = (line: string): void => {
    const [, name, value = ""] = /^(event|data|id): ?(.*)$/s.exec(line) ?? [];
    if (name === "event") event = value;
    if (name === "data") data = value;
    // What no header can carry could not be sent back.
    if (name === "id" && /^[\x21-\x7e]{1,128}$/.test(value)) id = value;
  };
  return (text) => {
    const lines = (rest + text).split("\n").map((line) => line.replace(/\r$/, ""));
    rest = lines.pop() ?? "";
    const events: SentEvent[] = [];
    for (const line of lines) {
      if (line !== "") readField(line);
      else if (data !== undefined) events.push({ event: event ?? "message", data, id });
      if (line === "") [event, data] = [undefined, undefined];
    }
    if (rest.length > maxCharacters) throw new RangeError("too long an event");
    return events;
  };
}
