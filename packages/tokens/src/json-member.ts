import { endOfString } from "./strict-json.ts";

/** Reads and writes a member as text, for a value that must survive to the byte: numbers, order, escapes. */

/** The source text of a member of a JSON object that is known to be well-formed; undefined where it has none so named. */
export function memberText(json: string, name: string): string | undefined {
  let at = skipSpace(json, skipSpace(json, 0) + 1);
  while (json[at] === '"') {
    const nameEnd = endOfString(json, at);
    // `"a"` and `"\u0061"` name the same member.
    const isWanted = JSON.parse(json.slice(at, nameEnd)) === name;
    const start = skipSpace(json, skipSpace(json, nameEnd) + 1);
    const end = endOfValue(json, start);
    if (isWanted) return json.slice(start, end);
    at = skipSpace(json, skipSpace(json, end) + 1);
  }
  return undefined;
}

/** A JSON object of the members and, last, one whose value is given as JSON text. */
export const withMemberText = (members: Readonly<Record<string, unknown>>, name: string, text: string): string => {
  const written = Object.entries(members).map(
    ([member, value]) => `${JSON.stringify(member)}:${JSON.stringify(value)}`,
  );
  return `{${[...written, `${JSON.stringify(name)}:${text}`].join(",")}}`;
};

function skipSpace(json: string, from: number): number {
  let at = from;
  while (/[ \t\n\r]/.test(json[at] ?? "")) at++;
  return at;
}

/** Brackets are balanced in well-formed JSON, so counting them is enough. */
function endOfValue(json: string, start: number): number {
  let at = start;
  let depth = 0;
  do {
    const char = json[at] ?? "";
    if (char === '"') at = endOfString(json, at);
    else {
      if (char === "{" || char === "[") depth++;
      else if (char === "}" || char === "]") depth--;
      at++;
    }
  } while (at < json.length && (depth > 0 || !/[,}\]\s]/.test(json[at] ?? "")));
  return at;
}
