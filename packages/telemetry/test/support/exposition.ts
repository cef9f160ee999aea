/** The samples of a Prometheus text response: `name{labels}` to value. */
export function samplesOf(body: string): Map<string, number> {
  const lines = body.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]),
  );
}

/** Family name to type, as announced. */
export function typesOf(body: string): Map<string, string> {
  return new Map([...body.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => [name, type]));
}
