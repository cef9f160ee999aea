/** Of what is said about an example, and of a command line that continues. */
const indent = "      ";

/** Help as it is, or on a terminal for its columns: prose is wrapped, long examples continue in the next line. */
export function fitHelp(help: string, columns: number | undefined): string {
  if (columns === undefined || help.split("\n").every((line) => line.length <= columns)) return help;
  return paragraphs(help)
    .map((line) => line.replace(/^ {30,}/, indent))
    .flatMap((line) => (line.length <= columns ? [line] : fitted(line, columns)))
    .join("\n");
}

/** Lines, where prose that goes over several is one. */
function paragraphs(text: string): readonly string[] {
  const lines: string[] = [];
  for (const line of text.split("\n")) {
    const before = lines.at(-1);
    if (before !== undefined && isProse(before) && isProse(line)) lines[lines.length - 1] = `${before} ${line}`;
    else lines.push(line);
  }
  return lines;
}

const isProse = (line: string): boolean =>
  /^[A-Za-z]/.test(line) && !/^(?:Usage|Options|Examples|Commands|Exit codes):/.test(line);

function fitted(line: string, columns: number): readonly string[] {
  const [, command, note] = /^ {2}(\S.*?)(?: {3,}(\S.*))?$/.exec(line) ?? [];
  if (command !== undefined) {
    const lines = broken(command, columns);
    const isBroken = lines.every(({ length }) => length <= columns);
    return [
      ...(isBroken ? lines : wrapped(command, columns, "  ")),
      ...(note === undefined ? [] : wrapped(note, columns, indent)),
    ];
  }
  return wrapped(line.trim(), columns, line.startsWith(" ") ? indent : "");
}

function wrapped(text: string, columns: number, start: string): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(start + word);
  }
  return lines;
}

/** A command line that a shell reads as one: it is broken before options and pipes alone. */
function broken(command: string, columns: number): readonly string[] {
  const lines: string[] = [];
  for (const part of command.split(/ (?=--|\| |\|\| |&& )/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + part.length + 3 <= columns) lines[lines.length - 1] = `${last} ${part}`;
    else lines.push((lines.length === 0 ? "  " : indent) + part);
  }
  return lines.map((line, at) => (at === lines.length - 1 ? line : `${line} \\`));
}
